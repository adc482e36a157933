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

}  // namespace nccl_slab::kernels
