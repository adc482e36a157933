// PathClass: how far apart two devices of one machine are, in the words of `nvidia-smi topo -m`, nearest
// first. The order of the values is the order of the distances, so that levels can be compared. Thread
// safety: a value; the functions are pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace nccl_slab::topology {

enum class PathClass : std::uint8_t {
  kSelf,     // X
  kNv,       // NVLink (or a link of its kind), directly or through switches of its own
  kPix,      // one PCIe switch
  kPxb,      // several PCIe switches, no host bridge
  kPhb,      // one host bridge
  kNode,     // host bridges of one NUMA node
  kSys,      // NUMA nodes (sockets)
  kUnknown,  // not known, and not comparable
};

// X, NV, PIX, PXB, PHB, NODE, SYS; "?" for unknown.
const char* path_word(PathClass path);

// A cell of a topology matrix: the words above in any case, NV#, and the former SOC. NV# stores # in *links.
std::optional<PathClass> parse_path(std::string_view word, int* links = nullptr);

}  // namespace nccl_slab::topology
