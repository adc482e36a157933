// What `nccl-slab topo` says about one machine: everything that follows from its facts, ready to be printed
// as text or JSON. Thread safety: a value; the functions are pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topology/islands.h"
#include "topology/machine.h"
#include "topology/verdict.h"

namespace nccl_slab::tool {

// GPUs that hang below one switch.
struct SwitchReport {
  std::string name;  // its address, or empty where the source does not tell
  std::vector<int> gpus;
};

struct TopoReport {
  topology::Machine machine;
  std::string problem;  // why facts are missing; empty: nothing to say
  topology::PairLevels levels;
  std::optional<topology::Partition> islands;
  IslandNode tree;
  std::optional<std::vector<SwitchReport>> switches;  // nothing: unknown
  topology::Ordered4Plus4 ordered_4plus4;
  std::uint64_t fingerprint = 0;
  topology::Verdict verdict;
};

TopoReport make_topo_report(topology::Machine machine, std::string problem);

// Groups of GPU indices in the numbers that the source uses: {0,1}{2,3}.
std::string gpu_braces(const topology::Machine& machine, const topology::Partition& groups);

std::string as_text(const TopoReport& report);
std::string as_json(const TopoReport& report);

}  // namespace nccl_slab::tool
