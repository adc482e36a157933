#include "topology/rank_facts.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "topology/hash.h"

namespace nccl_slab::topology {

RankFacts facts_from_bytes(std::span<const std::byte> bytes) {
  RankFacts facts;
  if (bytes.size() == sizeof facts)
    std::memcpy(&facts, bytes.data(), sizeof facts);
  else
    facts.size = 0;
  return facts;
}

std::uint64_t settings_digest(const Settings& settings) {
  std::string text;
  for (const std::string* word : {&settings.algo, &settings.transport, &settings.islands, &settings.ops})
    text += *word + '\n';
  for (const std::uint64_t number : {std::uint64_t{settings.force}, settings.slab_mib, settings.verify})
    text += std::to_string(number) + '\n';
  return fnv1a(text);
}

void set_gpu(const Gpu& gpu, RankFacts* facts) {
  set_text(facts->uuid, gpu.uuid);
  set_text(facts->pci, gpu.pci ? to_string(*gpu.pci) : "");
  set_text(facts->model, gpu.model);
  facts->architecture = gpu.architecture;
  facts->numa_node = gpu.numa_node;
  facts->mig = gpu.mig;
  facts->confidential = gpu.confidential;
}

void set_peers(const Machine& machine, int rank, RankFacts* facts) {
  const PairLevels levels = machine.levels();
  for (int peer = 0; peer < std::min(machine.gpu_count(), kMaxRanks); ++peer) {
    PeerFacts& way = facts->peers[static_cast<std::size_t>(peer)];
    way.path = levels.at(rank, peer);
    way.bridges = static_cast<std::uint8_t>(levels.bridges(rank, peer));
    way.p2p_read = machine.pair(rank, peer).p2p_read;
    way.p2p_write = machine.pair(rank, peer).p2p_write;
  }
}

void set_nccl_settings(const NcclSettings& settings, RankFacts* facts) {
  facts->p2p_disabled = settings.p2p_disabled;
  facts->p2p_level = settings.p2p_level.value_or(PathClass::kUnknown);
  facts->shm_disabled = settings.shm_disabled;
}

NcclSettings nccl_settings_of(const RankFacts& facts) {
  NcclSettings settings{facts.p2p_disabled, std::nullopt, facts.shm_disabled};
  if (facts.p2p_level != PathClass::kUnknown) settings.p2p_level = facts.p2p_level;
  return settings;
}

}  // namespace nccl_slab::topology
