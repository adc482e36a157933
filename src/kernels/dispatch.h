// Dispatch: from the run-time values of a call to the template arguments of its kernel.
#pragma once

#include <type_traits>

#include "kernels/arguments.h"

namespace nccl_slab::kernels {

// function(Element{}, std::bool_constant<scaled>{})
template <typename Function>
void dispatch(DataType type, Scaling scaling, Function function) {
  const auto with_scaling = [&](auto element) {
    if (scaling == Scaling::kNone)
      function(element, std::false_type{});
    else
      function(element, std::true_type{});
  };
  switch (type) {
    case DataType::kBf16:
      return with_scaling(Bf16{});
    case DataType::kFp16:
      return with_scaling(Fp16{});
    case DataType::kFp32:
      return with_scaling(Fp32{});
  }
}

// function(std::integral_constant<int, ranks>{}) for 2..kMaxRanks
template <int kFrom = 2, typename Function>
void dispatch_ranks(int ranks, Function function) {
  if constexpr (kFrom <= kMaxRanks) {
    if (ranks == kFrom)
      function(std::integral_constant<int, kFrom>{});
    else
      dispatch_ranks<kFrom + 1>(ranks, function);
  }
}

// function(std::integral_constant<int, members>{}) for the sizes of one of two islands
template <typename Function>
void dispatch_members(int members, Function function) {
  if (members == 2) function(std::integral_constant<int, 2>{});
  if (members == 3) function(std::integral_constant<int, 3>{});
  if (members == 4) function(std::integral_constant<int, 4>{});
}
static_assert(kMaxMembers == 4);

}  // namespace nccl_slab::kernels
