// Making and copying contributions. Pure but for the descriptors, which the copy owns anew.
#pragma once

#include <cstring>
#include <type_traits>

#include "comm/meeting.h"

namespace nccl_slab::comm {

// The bytes of a plain value, as it lies in memory: all ranks run the same build.
template <typename Value>
Contribution as_contribution(const Value& value) {
  static_assert(std::is_trivially_copyable_v<Value>);
  Contribution contribution;
  contribution.bytes.resize(sizeof(value));
  std::memcpy(contribution.bytes.data(), &value, sizeof(value));
  return contribution;
}

Status duplicate(const Contribution& contribution, Contribution* copy);

}  // namespace nccl_slab::comm
