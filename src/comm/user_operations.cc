#include "comm/user_operations.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <shared_mutex>

namespace nccl_slab::comm {
namespace {

struct Table {
  std::shared_mutex mutex;
  std::map<std::pair<ncclComm_t, ncclRedOp_t>, UserOperation> operations;
};

// Never destroyed: other threads may still call while the process exits.
Table& table() {
  static auto* instance = new Table();
  return *instance;
}

template <typename T>
T read(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

double from_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

// IEEE binary16: sign, 5 bits of exponent, 10 of fraction.
double from_float16(std::uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f;
  const int fraction = bits & 0x3ff;
  const double sign = bits & 0x8000 ? -1.0 : 1.0;
  if (exponent == 0x1f) return fraction != 0 ? std::nan("") : sign * HUGE_VAL;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(fraction | 0x400, exponent - 25);
}

std::optional<double> convert(const void* scalar, ncclDataType_t type) {
  if (type == ncclFloat16) return from_float16(read<std::uint16_t>(scalar));
  if (type == ncclBfloat16) return from_bfloat16(read<std::uint16_t>(scalar));
  if (type == ncclFloat32) return read<float>(scalar);
  if (type == ncclFloat64) return read<double>(scalar);
  return std::nullopt;
}

}  // namespace

UserOperation describe_factor(const void* scalar, ncclDataType_t type, ncclScalarResidence_t residence) {
  if (residence != ncclScalarHostImmediate) return {type, std::nullopt, scalar};
  return {type, scalar == nullptr ? std::nullopt : convert(scalar, type), nullptr};
}

void keep_user_operation(ncclComm_t comm, ncclRedOp_t number, UserOperation operation) {
  const std::unique_lock lock(table().mutex);
  table().operations.insert_or_assign({comm, number}, operation);
}

std::optional<UserOperation> find_user_operation(ncclComm_t comm, ncclRedOp_t number) {
  const std::shared_lock lock(table().mutex);
  const auto found = table().operations.find({comm, number});
  if (found == table().operations.end()) return std::nullopt;
  return found->second;
}

void forget_user_operation(ncclComm_t comm, ncclRedOp_t number) {
  const std::unique_lock lock(table().mutex);
  table().operations.erase({comm, number});
}

void forget_user_operations(ncclComm_t comm) {
  const std::unique_lock lock(table().mutex);
  auto& operations = table().operations;
  auto at = operations.lower_bound({comm, static_cast<ncclRedOp_t>(0)});
  while (at != operations.end() && at->first.first == comm) at = operations.erase(at);
}

}  // namespace nccl_slab::comm
