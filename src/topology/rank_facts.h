// RankFacts: what each rank of a communicator tells all others before the verdict, as bytes over their
// meeting. Trivially copyable, fixed size, no pointers; a rank of another build is recognised by `size` and
// `version`, which come first and never move. Strings are filled up with zeros. Thread safety: a value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include "base/settings.h"
#include "topology/machine.h"
#include "topology/nccl_settings.h"
#include "topology/pair_set.h"
#include "topology/rate_islands.h"

namespace nccl_slab::topology {

// What one rank knows of its way to another.
struct PeerFacts {
  PathClass path = PathClass::kUnknown;
  std::uint8_t bridges = 0;               // switches above both GPUs
  Answer peer_access = Answer::kUnknown;  // cudaDeviceCanAccessPeer from this rank's GPU to the peer's
  Answer p2p_read = Answer::kUnknown, p2p_write = Answer::kUnknown;  // NVML
};

struct RankFacts {
  std::uint32_t size = sizeof(RankFacts);
  char version[28] = {};  // of nccl-slab

  char trouble[96] = {};  // why this rank cannot tell what follows of its GPU; empty: it can
  char boot_id[40] = {};  // of the host; empty: unknown
  char uuid[48] = {};     // of the GPU; empty: unknown
  char pci[24] = {};      // of the GPU, in any form that is parsed; empty: unknown
  char model[64] = {};    // empty: unknown
  std::int32_t rank = 0, nranks = 0;
  std::int32_t architecture = 0;  // 86 for sm_86
  std::int32_t numa_node = -1;
  std::uint64_t settings = 0;      // digest of the settings that all ranks must share
  std::uint64_t table = 0;         // hash of the tuning table; 0: none
  std::uint64_t placement = 0;     // fingerprint; 0 until the others' GPUs are known
  std::uint64_t process = 0;       // equal for ranks of one process, different otherwise on one host
  bool force = false;              // NCCL_SLAB_FORCE
  bool has_kernel = true;          // for this architecture
  bool blocking_launches = false;  // CUDA_LAUNCH_BLOCKING
  bool p2p_disabled = false, shm_disabled = false;  // NCCL's settings, see nccl_settings.h
  PathClass p2p_level = PathClass::kUnknown;        // kUnknown: not set
  Link link{};                                      // of the GPU; unknown until the others' GPUs are known
  Answer mig = Answer::kUnknown, confidential = Answer::kUnknown;
  std::array<PeerFacts, kMaxRanks> peers{};  // by rank; filled in once the others' GPUs are known
  // What this rank's process has learned from earlier communicators on the same GPUs.
  PairSet lying;                     // peer memory failed: cannot be mapped, or data did not arrive whole
  PairSet slow;                      // peer memory works, and carries far less than host memory
  PairSet proven_peer, proven_host;  // passed the whole self-test through that memory
  RateMatrix rates;                  // of peer memory, where they made islands
};
static_assert(std::is_trivially_copyable_v<RankFacts>);

// What a contribution holds. Bytes of another length make facts of size
// 0, which the verdict calls another version.
RankFacts facts_from_bytes(std::span<const std::byte> bytes);

// A digest of the settings that all ranks must share: those that steer
// the plan, the memory layout and the calls taken.
std::uint64_t settings_digest(const Settings& settings);

// Fills in what the machine knows of one GPU, and, once the machine holds
// the GPUs of all ranks in rank order, of its ways to the others. REQUIRES:
// rank is an index of machine.gpus, of which at most kMaxRanks are taken.
void set_gpu(const Gpu& gpu, RankFacts* facts);
void set_peers(const Machine& machine, int rank, RankFacts* facts);

// The settings of NCCL, to and from the facts.
void set_nccl_settings(const NcclSettings& settings, RankFacts* facts);
NcclSettings nccl_settings_of(const RankFacts& facts);

// Copies as much as fits; the rest of the field is zero.
template <std::size_t N>
void set_text(char (&field)[N], std::string_view text) {
  for (std::size_t i = 0; i < N; ++i) field[i] = i < text.size() && i + 1 < N ? text[i] : '\0';
}

// The field up to its first zero; safe on bytes from a stranger.
template <std::size_t N>
std::string_view text_of(const char (&field)[N]) {
  std::size_t length = 0;
  while (length < N && field[length] != '\0') ++length;
  return {field, length};
}

}  // namespace nccl_slab::topology
