#include "kernels/transfer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "kernels/host_kernels.h"

namespace nccl_slab::kernels {
namespace {

// What lies in memory after a transfer of `packs` by `blocks`, a pack of guard bytes behind it.
std::vector<std::uint32_t> transferred(std::uint64_t packs, unsigned blocks, int roles) {
  std::vector<std::uint32_t> from(packs * 4 + 4), to(packs * 4 + 4, 0xdeadbeef);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = 0x3f800000 + static_cast<std::uint32_t>(i);
  Arguments a{};
  a.send = reinterpret_cast<const char*>(from.data());
  a.receive = reinterpret_cast<char*>(to.data());
  a.shard_bytes = packs * kPackBytes;
  a.roles = roles;
  for (unsigned block = 0; block < blocks; ++block) run_host_block(Kernel::kTransfer, a, block, blocks);
  return to;
}

TEST(Transfer, MovesAllOfItAndNothingElse) {
  for (const int roles : {0, 1})
    for (const std::uint64_t packs : {1u, 7u, 64u, 1001u})
      for (const unsigned blocks : {1u, 3u, 8u}) {
        const std::vector<std::uint32_t> to = transferred(packs, blocks, roles);
        for (std::size_t i = 0; i < to.size(); ++i)
          ASSERT_EQ(to[i], i < packs * 4 ? 0x3f800000 + i : 0xdeadbeef)
              << packs << " packs, " << blocks << " blocks, roles " << roles << ", word " << i;
      }
}

TEST(Transfer, HasABlockForEachUnit) {
  EXPECT_EQ(host_blocks(Kernel::kTransfer, Arguments{}, 8), 8u);
}

}  // namespace
}  // namespace nccl_slab::kernels
