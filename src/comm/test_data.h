// Test data: what the ranks contribute in the rounds of the self-test, and what each owner must then hold.
// fp32, whose 32 bits travel through the slab as they are. Pure.
//
//   kNamed       rank r contributes 2^r times a number that depends on the place: exact, and a missing bit of
//                the sum names a missing rank. Low bits of a contribution may round away.
//   kLone        one source contributes any bits but NaNs, infinities and tiny numbers, the others zero; the
//   source
//                changes every `period` elements. Partial sums over islands are then the source's bits too:
//                one flipped bit anywhere on the way is seen, and the place names the source.
//   kCancelling  every rank contributes a whole mantissa, each of another magnitude, and all of them cancel
//                but for a rest that fp32 holds exactly: any bit of any contribution that flips changes the
//                result, also if it flips in all of them. For kernels without partial sums.
#pragma once

#include <cstdint>
#include <vector>

namespace nccl_slab::comm {

enum class TestContents { kNamed, kLone, kCancelling };

struct TestData {
  TestContents contents = TestContents::kNamed;
  int ranks = 0;
  std::uint64_t count = 0;   // elements of a shard
  std::uint64_t period = 1;  // of kLone
  std::uint32_t seed = 0;    // another one for each round, so that data of an earlier one is seen as wrong

  // The send buffer of a rank.
  std::vector<float> contribution(int rank) const;
  // The shard of a rank after the reduce-scatter.
  std::vector<float> result(int rank) const;
  // The only source of an element of kLone.
  int lone_source(int owner, std::uint64_t element) const;

 private:
  float value(int source, int owner, std::uint64_t element) const;
};

}  // namespace nccl_slab::comm
