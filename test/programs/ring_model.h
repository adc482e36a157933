// What a ring makes of one element: the yardstick of the table. A ring adds rank after rank in the data type
// and rounds at every hop; the owner's contribution comes last.
//
// Bound: with u the unit roundoff, each of the n - 1 additions, in whatever order and tree, multiplies what
// it has by (1 + d), |d| <= u, so that |result - sum| <= g * sum |x_i| with g = (n-1)u / (1 - (n-1)u). A
// result outside is wrong, not merely inexact. Sums below the normal numbers are exact, hence add nothing.
// Accumulating wider and rounding once, or once per island, stays within it too.
#pragma once

#include <vector>

#include "numbers.h"

namespace programs {

// The contributions of all ranks to one element.
struct Contributions {
  std::vector<double> of_rank;

  double sum() const;        // in fp64
  double magnitude() const;  // sum of absolute values
};

// n = number of ranks.
double error_bound(const NumberType& type, size_t ranks, double magnitude);

// The ring's result for an element of the owner's shard.
double ring_result(const NumberType& type, const Contributions& contributions, int owner);

}  // namespace programs
