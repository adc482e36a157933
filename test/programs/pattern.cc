// See pattern.h. The mixing function is splitmix64's finalizer.
#include "pattern.h"

namespace programs {

uint64_t mixed(uint64_t seed, int rank, size_t index) {
  uint64_t word = seed * 0x9e3779b97f4a7c15 + static_cast<uint64_t>(rank) * 0xd1b54a32d192ed03 + index;
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
  word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
  return word ^ (word >> 31);
}

double random_value(const NumberType& type, uint64_t seed, int rank, size_t index) {
  // As many random digits as the significand holds, so that there is nothing to round; then one of four
  // magnitudes.
  const int digits = type.digits < 24 ? type.digits : 24;
  const uint64_t word = mixed(seed, rank, index);
  const auto whole = static_cast<int64_t>(word >> (64 - digits - 1)) - (int64_t{1} << digits);
  return static_cast<double>(whole) /
         static_cast<double>(int64_t{1} << (digits + static_cast<int>(word & 3)));
}

double whole_value(const NumberType& type, uint64_t seed, int rank, size_t index) {
  const auto value = static_cast<double>(mixed(seed, rank, index) % 9);
  const bool is_unsigned = type.nccl == ncclUint8 || type.nccl == ncclUint32 || type.nccl == ncclUint64;
  return is_unsigned ? value : value - 4;
}

std::vector<unsigned char> encoded(const NumberType& type, Values values, uint64_t seed, int rank,
                                   size_t first, size_t count) {
  std::vector<unsigned char> bytes(count * type.bytes);
  for (size_t i = 0; i < count; ++i)
    encode(type, values(type, seed, rank, first + i), &bytes[i * type.bytes]);
  return bytes;
}

}  // namespace programs
