// Test data: what the ranks contribute in the rounds of the self-test, and what each owner must then hold.
// fp32, whose 32 bits travel through the slab as they are.
//
//   kNamed       rank r contributes 2^r times a number that depends on the place: exact, and a missing bit of
//                the sum names a missing rank. Low bits of a contribution may round away.
//   kLone        one source contributes any bits but NaNs, infinities and tiny numbers, the others zero; the
//                source changes every `period` elements. Partial sums over islands are then the source's bits
//                too: one flipped bit anywhere on the way is seen, and the place names the source.
//   kCancelling  every rank contributes a whole mantissa, each of another magnitude, and all of them cancel
//                but for a rest that fp32 holds exactly: any bit of any contribution that flips changes the
//                result, also if it flips in all of them. For kernels without partial sums.
//
// The numbers stand in tables that are read round and round, from a start that depends on owner and round:
// filling a buffer is copying, checking one is comparing. No size of a chunk or mailbox shares a factor with
// the tables' length, so that data in the wrong place or of another round is seen as wrong.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace nccl_slab::comm {

enum class TestContents { kNamed, kLone, kCancelling };
inline constexpr std::size_t kTestContents = 3;

struct TestData {
  TestContents contents = TestContents::kNamed;
  int ranks = 0;
  std::uint64_t count = 0;   // elements of a shard
  std::uint64_t period = 1;  // of kLone
  std::uint32_t seed = 0;    // another one for each round

  // The only source of an element of kLone.
  int lone_source(int owner, std::uint64_t element) const;
};

// The numbers of one rank, made when they are first asked for. Not thread-safe.
class TestNumbers {
 public:
  TestNumbers(int ranks, int rank) : ranks_(ranks), rank_(rank) {}

  // Fills the rank's send buffer: a shard for every owner. REQUIRES: data.ranks is that of the constructor.
  void contribute(const TestData& data, float* shards);
  // The first element of the rank's result that is not what it must be, bit by bit; data.count: none.
  std::uint64_t first_wrong(const TestData& data, const float* result);
  float expected(const TestData& data, std::uint64_t element);

 private:
  static constexpr std::uint64_t kLength = 16381;  // a prime
  using Table = std::vector<float>;
  struct Tables {
    Table mine, sum;
  };

  static std::uint64_t start(const TestData& data, int owner);
  const Tables& tables(TestContents contents);
  Tables make(TestContents contents) const;
  float number(TestContents contents, int source, std::uint64_t place) const;
  void contribute_lone(const TestData& data, int owner, float* shard);

  const int ranks_, rank_;
  std::array<Tables, kTestContents> tables_;
};

}  // namespace nccl_slab::comm
