// The data types of NCCL as the programs see them: encoded from and decoded to double, with the figures that
// error bounds need. Thread safety: immutable.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <string_view>
#include <vector>

namespace programs {

struct NumberType {
  const char* name;
  ncclDataType_t nccl;
  size_t bytes;
  int digits;        // of the significand, the hidden one included; 0 for integers
  int min_exponent;  // of the smallest normal number, for floating point

  bool is_float() const { return digits > 0; }
  // Half the distance between 1 and the next number: the largest relative error of one rounding.
  double unit_roundoff() const;
  // The distance between neighbours around that value, which is finite.
  double ulp(double value) const;
};

const std::vector<NumberType>& all_types();
const NumberType& type_named(std::string_view name);

// Floating point: to nearest even. Integers: the value must fit.
void encode(const NumberType& type, double value, void* into);
double decode(const NumberType& type, const void* from);
// One rounding to the type, which is a floating-point one.
double rounded(const NumberType& type, double value);

}  // namespace programs
