// Every fixture cut off at every length, and with bytes, lines and words changed: whatever the readers make
// of it, they return, and what they return is consistent. The changes are the same on every run.
#include <gtest/gtest.h>

#include <random>

#include "fixtures.h"
#include "topology/fingerprint.h"
#include "topology/island_text.h"
#include "topology/islands.h"
#include "topology/topology_file.h"

namespace nccl_slab::topology {
namespace {

void expect_consistent(const std::string& text) {
  Machine machine;
  if (!parse_topology(text, &machine)) return;
  ASSERT_GT(machine.gpu_count(), 0);
  const PairLevels levels = machine.levels();
  const IslandNode tree = island_tree(levels);
  ASSERT_EQ(static_cast<int>(tree.ranks.size()), machine.gpu_count());
  IslandNode again;
  const Status status = parse_islands(island_text(tree), machine.gpu_count(), &again);
  ASSERT_TRUE(status) << status.what();
  for (const Nic& nic : machine.nics) ASSERT_EQ(static_cast<int>(nic.to_gpu.size()), machine.gpu_count());
  placement_fingerprint(machine);
}

class Mutation : public testing::TestWithParam<std::string> {
 protected:
  const std::string text = content_of(GetParam());
};

TEST_P(Mutation, Truncated) {
  for (std::size_t length = 0; length < text.size(); length += 1 + text.size() / 400)
    expect_consistent(text.substr(0, length));
}

TEST_P(Mutation, WithoutItsBeginning) {
  for (std::size_t begin = 0; begin < text.size(); begin += 1 + text.size() / 200)
    expect_consistent(text.substr(begin));
}

TEST_P(Mutation, BytesChanged) {
  std::mt19937 random(1);
  const std::string bytes("\0\n\t |<>\"0X9SGP\xff\x1b[", 18);
  for (int round = 0; round < 300; ++round) {
    std::string changed = text;
    for (int i = 0; i <= round % 8; ++i) changed[random() % changed.size()] = bytes[random() % bytes.size()];
    expect_consistent(changed);
  }
}

TEST_P(Mutation, PartsRemovedAndRepeated) {
  std::mt19937 random(2);
  for (int round = 0; round < 200; ++round) {
    std::string changed = text;
    const std::size_t begin = random() % changed.size(), length = random() % 200;
    const std::string part = changed.substr(begin, length);
    changed.erase(begin, length);
    if (round % 2) changed.insert(random() % (changed.size() + 1), part + part);
    expect_consistent(changed);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Mutation, testing::ValuesIn(machine_files()), [](const auto& each) {
  std::string name = each.param.substr(each.param.rfind('/') + 1);
  for (char& character : name)
    if (!std::isalnum(static_cast<unsigned char>(character))) character = '_';
  return name;
});

}  // namespace
}  // namespace nccl_slab::topology
