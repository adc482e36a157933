#include "comm/test_data.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "comm/mixed_bits.h"

namespace nccl_slab::comm {
namespace {

constexpr std::uint32_t kExponent = 0x7f800000, kMantissa = 0x007fffff;
constexpr std::uint64_t kRoundShift = 5003;  // places from the start of a round to that of the next

// So small that fp32 holds every sum of multiples.
float place_value(std::uint64_t bits) {
  return static_cast<float>(1 + bits % 32767);
}

// Any number but infinities and NaNs, which would not come through a sum as they are, and tiny ones, which a
// flipped bit of another rank's zero would change, so that the wrong source were blamed.
float lone_number(std::uint64_t bits) {
  auto word = static_cast<std::uint32_t>(bits);
  if ((word & kExponent) == kExponent) word ^= 0x00800000;
  if ((word & kExponent) < 0x10000000) word |= 0x20000000;
  return std::bit_cast<float>(word);
}

// A whole mantissa in [2^exponent, 2^(exponent+1)), in the upper half of it if asked.
float mantissa(std::uint64_t bits, int exponent, bool upper) {
  const std::uint32_t word = (static_cast<std::uint32_t>(bits) & kMantissa) | (upper ? 0x00400000u : 0u);
  return std::bit_cast<float>(word | static_cast<std::uint32_t>(127 + exponent) << 23);
}

// The pieces of `count` elements that lie together in a table of `length`: piece(offset, place, elements).
// False as soon as one of them is.
template <typename Piece>
bool round_and_round(std::uint64_t start, std::uint64_t count, std::uint64_t length, Piece piece) {
  for (std::uint64_t at = 0, place = start; at < count; place = 0) {
    const std::uint64_t elements = std::min(count - at, length - place);
    if (!piece(at, place, elements)) return false;
    at += elements;
  }
  return true;
}

void copy_from(const std::vector<float>& table, std::uint64_t start, float* to, std::uint64_t count) {
  round_and_round(start, count, table.size(), [&](auto at, auto place, auto elements) {
    std::memcpy(to + at, table.data() + place, elements * sizeof(float));
    return true;
  });
}

bool equals(const std::vector<float>& table, std::uint64_t start, const float* got, std::uint64_t count) {
  return round_and_round(start, count, table.size(), [&](auto at, auto place, auto elements) {
    return std::memcmp(got + at, table.data() + place, elements * sizeof(float)) == 0;
  });
}

}  // namespace

int TestData::lone_source(int owner, std::uint64_t element) const {
  const auto step = static_cast<int>(element / period % static_cast<std::uint64_t>(ranks - 1));
  return (owner + 1 + step) % ranks;
}

// kCancelling: the last rank takes the sum of the others away, rounded. The one before it lies in the upper
// half of its octave, so that this sum has the next exponent and no two ranks have the same. Sums of the
// ranks in fp64 are exact, and the rest is shorter than a mantissa.
float TestNumbers::number(TestContents contents, int source, std::uint64_t place) const {
  if (contents == TestContents::kNamed) return std::ldexp(place_value(mixed_bits(0, place)), source);
  if (contents == TestContents::kLone) return lone_number(mixed_bits(1, place));
  if (source < ranks_ - 1)
    return mantissa(mixed_bits(2 + static_cast<unsigned>(source), place), source, source == ranks_ - 2);
  double others = 0;
  for (int rank = 0; rank < ranks_ - 1; ++rank) others += number(contents, rank, place);
  return -static_cast<float>(others);
}

TestNumbers::Tables TestNumbers::make(TestContents contents) const {
  Tables made;
  for (std::uint64_t place = 0; place < kLength; ++place) {
    made.mine.push_back(number(contents, rank_, place));
    double sum = 0;
    const int sources = contents == TestContents::kLone ? 1 : ranks_;
    for (int source = 0; source < sources; ++source) sum += number(contents, source, place);
    made.sum.push_back(static_cast<float>(sum));
  }
  return made;
}

const TestNumbers::Tables& TestNumbers::tables(TestContents contents) {
  Tables& tables = tables_[static_cast<std::size_t>(contents)];
  if (tables.mine.empty()) tables = make(contents);
  return tables;
}

std::uint64_t TestNumbers::start(const TestData& data, int owner) {
  return (static_cast<std::uint64_t>(owner) * data.count + data.seed * kRoundShift) % kLength;
}

void TestNumbers::contribute(const TestData& data, float* shards) {
  for (int owner = 0; owner < ranks_; ++owner, shards += data.count) {
    if (data.contents == TestContents::kLone)
      contribute_lone(data, owner, shards);
    else
      copy_from(tables(data.contents).mine, start(data, owner), shards, data.count);
  }
}

void TestNumbers::contribute_lone(const TestData& data, int owner, float* shard) {
  const Table& numbers = tables(data.contents).mine;
  const std::uint64_t first = start(data, owner);
  const std::uint64_t period = ranks_ == 2 ? data.count : data.period;  // of two ranks one is alone all along
  for (std::uint64_t at = 0; at < data.count; at += period) {
    const std::uint64_t elements = std::min(period, data.count - at);
    if (rank_ == data.lone_source(owner, at))
      copy_from(numbers, (first + at) % kLength, shard + at, elements);
    else
      std::memset(shard + at, 0, elements * sizeof(float));
  }
}

float TestNumbers::expected(const TestData& data, std::uint64_t element) {
  return tables(data.contents).sum[(start(data, rank_) + element) % kLength];
}

std::uint64_t TestNumbers::first_wrong(const TestData& data, const float* result) {
  const Table& sum = tables(data.contents).sum;
  if (equals(sum, start(data, rank_), result, data.count)) return data.count;
  std::uint64_t element = 0;
  while (equals(sum, (start(data, rank_) + element) % kLength, result + element, 1)) ++element;
  return element;
}

}  // namespace nccl_slab::comm
