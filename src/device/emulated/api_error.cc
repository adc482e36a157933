// Names and sentences of errors.
#include "device/emulated/api.h"

namespace {

struct Row {
  int number;
  const char* name;
  const char* sentence;
};

constexpr Row kRows[] = {
#define ROW(number, name, sentence) {number, #name, sentence},
#include "device/emulated/errors.def"
#undef ROW
};

const Row* find(cudaError_t error) {
  for (const Row& row : kRows) {
    if (row.number == static_cast<int>(error)) return &row;
  }
  return nullptr;
}

}  // namespace

EMULATED_EXPORT const char* cudaGetErrorName(cudaError_t error) {
  const Row* row = find(error);
  return row == nullptr ? "unrecognized error code" : row->name;
}

EMULATED_EXPORT const char* cudaGetErrorString(cudaError_t error) {
  const Row* row = find(error);
  if (row == nullptr) return "unrecognized error code";
  return row->sentence == nullptr ? row->name : row->sentence;
}
