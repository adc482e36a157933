// The plain reference: one loop, fp64, no protocol. Tests compare every algorithm with it, and derive the
// error bound from the sum of magnitudes.
#pragma once

#include <cmath>
#include <vector>

#include "kernels/element.h"

namespace nccl_slab::kernels {

struct ReferenceSum {
  double sum = 0, magnitude = 0;  // of the factor times the contribution
};

// contributions[r] points to rank r's element of type Element.
template <typename Element>
ReferenceSum reference_sum(const std::vector<typename Element::Bits>& contributions,
                           const std::vector<double>& factors) {
  ReferenceSum result;
  for (std::size_t r = 0; r < contributions.size(); ++r) {
    const double value = static_cast<double>(Element::widen(contributions[r])) * factors[r];
    result.sum += value;
    result.magnitude += std::fabs(value);
  }
  return result;
}

}  // namespace nccl_slab::kernels
