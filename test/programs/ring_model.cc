// See ring_model.h.
#include "ring_model.h"

#include <cmath>

namespace programs {

double Contributions::sum() const {
  double total = 0;
  for (double value : of_rank) total += value;
  return total;
}

double Contributions::magnitude() const {
  double total = 0;
  for (double value : of_rank) total += std::fabs(value);
  return total;
}

double error_bound(const NumberType& type, size_t ranks, double magnitude) {
  const double rounding = static_cast<double>(ranks - 1) * type.unit_roundoff();
  return rounding / (1 - rounding) * magnitude;
}

double ring_result(const NumberType& type, const Contributions& contributions, int owner) {
  const size_t ranks = contributions.of_rank.size();
  const auto first = static_cast<size_t>(owner) + 1;
  double total = contributions.of_rank[first % ranks];
  for (size_t hop = 1; hop < ranks; ++hop)
    total = rounded(type, total + contributions.of_rank[(first + hop) % ranks]);
  return total;
}

}  // namespace programs
