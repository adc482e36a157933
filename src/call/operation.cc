#include "call/operation.h"

#include <algorithm>
#include <string_view>

namespace nccl_slab::call {
namespace {

bool is_user_operation(ncclRedOp_t operation) {
  return operation >= ncclNumOps;
}

// The word of an operation in NCCL_SLAB_OPS; null for one that the slab does not carry.
const char* operation_word(const Request& request) {
  if (request.operation == ncclSum) return "sum";
  if (request.operation == ncclAvg) return "avg";
  const bool scaled = is_user_operation(request.operation) && request.scale.kind != Scale::Kind::kNone;
  return scaled ? "premulsum" : nullptr;
}

// Part of every call: allocates nothing.
bool lists(std::string_view words, std::string_view wanted) {
  while (!words.empty()) {
    const std::size_t comma = std::min(words.find(','), words.size());
    if (words.substr(0, comma) == wanted) return true;
    words.remove_prefix(std::min(comma + 1, words.size()));
  }
  return false;
}

}  // namespace

kernels::DataType kernel_type(ncclDataType_t type) {
  if (type == ncclBfloat16) return kernels::DataType::kBf16;
  return type == ncclFloat16 ? kernels::DataType::kFp16 : kernels::DataType::kFp32;
}

std::size_t type_bytes(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
    case ncclFloat8e4m3:
    case ncclFloat8e5m2:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32:
      return 4;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8;
  }
  return 0;
}

// Of a shard: beyond, bytes of the send buffer would not fit 64 bits.
constexpr std::size_t kMostElements = std::size_t{1} << 56;

Reason operation_verdict(const Request& request, const std::string& ops) {
  if (request.count == 0) return Reason::empty;
  if (request.count > kMostElements) return Reason::too_large;
  const ncclDataType_t type = request.type;
  if (type != ncclBfloat16 && type != ncclFloat16 && type != ncclFloat32) return Reason::datatype;
  const char* word = operation_word(request);
  if (word == nullptr) return Reason::operation;
  return lists(ops, word) ? Reason::none : Reason::operation_setting;
}

comm::Operation describe(const Request& request, int nranks) {
  comm::Operation operation;
  operation.send = request.send;
  operation.receive = request.receive;
  operation.shard_bytes = request.count * type_bytes(request.type);
  operation.type = kernel_type(request.type);
  if (request.operation == ncclAvg) {
    operation.scaling = kernels::Scaling::kUniform;
    operation.factor = 1.0 / nranks;
  } else if (is_user_operation(request.operation)) {
    operation.scaling = kernels::Scaling::kPerRank;
    operation.factor = request.scale.value;
    operation.factor_pointer = request.scale.device;
  }
  return operation;
}

}  // namespace nccl_slab::call
