// The reduce-scatter is NCCL's ring, bit for bit: each hop adds in the data type, the owner's contribution
// comes last.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstring>

#include "thread_ranks.h"

namespace {

constexpr size_t kCount = 20011;  // more than one piece of the ring

// The model's type: how one addition rounds.
struct Brain {
  static constexpr ncclDataType_t kType = ncclBfloat16;
  using Bits = __nv_bfloat16;
  static Bits from(float value) { return __float2bfloat16(value); }
  static Bits sum(Bits a, Bits b) { return __float2bfloat16(__bfloat162float(a) + __bfloat162float(b)); }
};

struct Half {
  static constexpr ncclDataType_t kType = ncclFloat16;
  using Bits = __half;
  static Bits from(float value) { return __float2half(value); }
  static Bits sum(Bits a, Bits b) { return __float2half(__half2float(a) + __half2float(b)); }
};

struct Single {
  static constexpr ncclDataType_t kType = ncclFloat32;
  using Bits = float;
  static Bits from(float value) { return value; }
  static Bits sum(Bits a, Bits b) { return a + b; }
};

// In [-1, 1), of several magnitudes; the same wherever it is computed.
float value_of(int rank, size_t index) {
  uint64_t word = (static_cast<uint64_t>(rank) << 40) + index + 1;
  for (int turn = 0; turn < 2; ++turn) word = (word ^ (word >> 31)) * 0x9e3779b97f4a7c15;
  return static_cast<float>(static_cast<int32_t>(word >> 32)) /
         static_cast<float>(uint64_t{1} << (31 + (word & 7)));
}

template <class Format>
std::vector<typename Format::Bits> inputs(int rank, size_t first, size_t count) {
  std::vector<typename Format::Bits> values;
  for (size_t i = 0; i < count; ++i) values.push_back(Format::from(value_of(rank, first + i)));
  return values;
}

template <class Format>
std::vector<typename Format::Bits> model(int owner, int ranks) {
  const auto shard = static_cast<size_t>(owner) * kCount;
  auto total = inputs<Format>((owner + 1) % ranks, shard, kCount);
  for (int hop = 2; hop <= ranks; ++hop) {
    const auto values = inputs<Format>((owner + hop) % ranks, shard, kCount);
    for (size_t i = 0; i < kCount; ++i) total[i] = Format::sum(total[i], values[i]);
  }
  return total;
}

template <class Format>
void check(ThreadRank& rank) {
  using Bits = typename Format::Bits;
  const std::vector<Bits> mine = inputs<Format>(rank.rank, 0, kCount * static_cast<size_t>(rank.ranks));
  std::vector<Bits> result(kCount);
  void* send = nullptr;
  void* receive = nullptr;
  ASSERT_EQ(cudaMalloc(&send, mine.size() * sizeof(Bits)), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&receive, kCount * sizeof(Bits)), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(send, mine.data(), mine.size() * sizeof(Bits), cudaMemcpyHostToDevice), cudaSuccess);
  ASSERT_EQ(ncclReduceScatter(send, receive, kCount, Format::kType, ncclSum, rank.comm, rank.stream),
            ncclSuccess);
  ASSERT_EQ(cudaStreamSynchronize(rank.stream), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(result.data(), receive, kCount * sizeof(Bits), cudaMemcpyDeviceToHost), cudaSuccess);
  const std::vector<Bits> expected = model<Format>(rank.rank, rank.ranks);
  EXPECT_EQ(std::memcmp(result.data(), expected.data(), kCount * sizeof(Bits)), 0) << "rank " << rank.rank;
  EXPECT_EQ(cudaFree(send), cudaSuccess);
  EXPECT_EQ(cudaFree(receive), cudaSuccess);
}

class RingRounding : public testing::TestWithParam<int> {};

TEST_P(RingRounding, EveryHopRoundsToTheType) {
  with_ranks(GetParam(), [](ThreadRank& rank) {
    check<Brain>(rank);
    check<Half>(rank);
    check<Single>(rank);
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, RingRounding, testing::Values(2, 3, 5, 8));

}  // namespace
