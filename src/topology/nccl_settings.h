// The settings of NCCL that say how ranks may reach each other, which we honour too:
// NCCL_P2P_DISABLE, NCCL_P2P_LEVEL and NCCL_SHM_DISABLE. Someone who sets them has a reason
// (a machine that resets under peer traffic). Unset, everything that passes the self-test
// is allowed, whatever NCCL's own default. Read after the real creator has run, since
// nccl.conf may set them. Thread safety: a value; parsing is pure but for the environment.
#pragma once

#include <optional>

#include "topology/path_class.h"

namespace nccl_slab::topology {

struct NcclSettings {
  bool p2p_disabled = false;
  // The farthest path on which peer memory is allowed; kSelf forbids it for all pairs. Nothing: not set.
  std::optional<PathClass> p2p_level{};
  bool shm_disabled = false;

  bool operator==(const NcclSettings&) const = default;
};

// Words and legacy numbers as NCCL takes them; a word that NCCL does not know is ignored, as there.
NcclSettings parse_nccl_settings(const char* (*environment)(const char* variable));

// How the two ranks of a pair may exchange data.
struct AllowedTransports {
  bool peer = true, host = true;
};

// An unknown path counts as the farthest.
AllowedTransports allowed_transports(const NcclSettings& settings, PathClass path);

}  // namespace nccl_slab::topology
