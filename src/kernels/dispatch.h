// Dispatch: from the run-time values of a call to the template arguments of its kernel.
#pragma once

#include <type_traits>

#include "kernels/arguments.h"

namespace nccl_slab::kernels {

// What function(Element{}, std::bool_constant<scaled>{}) returns.
template <typename Function>
auto dispatch(DataType type, Scaling scaling, Function function) {
  const auto with_scaling = [&](auto element) {
    return scaling == Scaling::kNone ? function(element, std::false_type{})
                                     : function(element, std::true_type{});
  };
  if (type == DataType::kBf16) return with_scaling(Bf16{});
  return type == DataType::kFp16 ? with_scaling(Fp16{}) : with_scaling(Fp32{});
}

// What function(std::integral_constant<int, value>{}) returns. REQUIRES: kFrom <= value <= kTo.
template <int kFrom, int kTo, typename Function>
auto dispatch_between(int value, Function function) {
  if constexpr (kFrom < kTo)
    if (value != kFrom) return dispatch_between<kFrom + 1, kTo>(value, function);
  return function(std::integral_constant<int, kFrom>{});
}

template <typename Function>
auto dispatch_ranks(int ranks, Function function) {
  return dispatch_between<2, kMaxRanks>(ranks, function);
}

// For the ranks of one of two islands.
template <typename Function>
auto dispatch_members(int members, Function function) {
  return dispatch_between<2, kMaxMembers>(members, function);
}

}  // namespace nccl_slab::kernels
