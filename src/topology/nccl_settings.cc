#include "topology/nccl_settings.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace nccl_slab::topology {
namespace {

// NCCL's words. It has levels that we do not tell apart: NVB (NVLink through another GPU), C2C, P2C and PXN
// lie between ours; each allows what is nearer. Its PHB holds what nvidia-smi calls PHB and NODE.
constexpr std::array<std::pair<std::string_view, PathClass>, 10> kLevels{{{"LOC", PathClass::kSelf},
                                                                          {"NVL", PathClass::kNv},
                                                                          {"NVB", PathClass::kNv},
                                                                          {"C2C", PathClass::kNv},
                                                                          {"PIX", PathClass::kPix},
                                                                          {"PXB", PathClass::kPxb},
                                                                          {"P2C", PathClass::kPxb},
                                                                          {"PXN", PathClass::kPxb},
                                                                          {"PHB", PathClass::kNode},
                                                                          {"SYS", PathClass::kSys}}};

// The numbers of old releases; larger ones count as the last.
constexpr std::array<PathClass, 5> kLegacyLevels{PathClass::kSelf, PathClass::kPix, PathClass::kPxb,
                                                 PathClass::kNode, PathClass::kSys};

std::optional<PathClass> level_of(std::string_view text) {
  for (const auto& [word, path] : kLevels)
    if (text == word) return path;
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  const long number = std::strtol(text.data(), nullptr, 0);
  return kLegacyLevels[static_cast<std::size_t>(std::min<long>(number, kLegacyLevels.size() - 1))];
}

bool is_one(const char* text) {
  return text && std::strtol(text, nullptr, 0) == 1;
}

}  // namespace

NcclSettings parse_nccl_settings(const char* (*environment)(const char* variable)) {
  NcclSettings settings;
  settings.p2p_disabled = is_one(environment("NCCL_P2P_DISABLE"));
  if (const char* level = environment("NCCL_P2P_LEVEL")) settings.p2p_level = level_of(level);
  settings.shm_disabled = is_one(environment("NCCL_SHM_DISABLE"));
  return settings;
}

AllowedTransports allowed_transports(const NcclSettings& settings, PathClass path) {
  const PathClass farthest = settings.p2p_level.value_or(PathClass::kSys);
  const PathClass assumed = path == PathClass::kUnknown ? PathClass::kSys : path;
  return {!settings.p2p_disabled && assumed <= farthest, !settings.shm_disabled};
}

}  // namespace nccl_slab::topology
