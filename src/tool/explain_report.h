// What `nccl-slab explain` says about one call on one machine, ready to be printed. Thread safety: a value;
// the functions are pure but for the settings SLAB_MIB, TRANSPORT and ISLANDS, which count as in the library.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "kernels/layout.h"
#include "tool/explain_machine.h"
#include "tune/candidates.h"

namespace nccl_slab::tool {

// A candidate with the bytes that it puts on every directed edge.
struct ExplainedCandidate {
  tune::Algorithm algorithm = tune::Algorithm::kFlat;
  tune::Cost cost{};
  tune::EdgeLoads bytes{};
};

struct ExplainReport {
  std::string machine, rates;
  std::vector<int> gpus;  // of each rank
  IslandNode tree;        // of ranks
  std::string dtype;
  std::uint64_t count = 0, shard_bytes = 0;
  tune::Facts facts;
  std::vector<ExplainedCandidate> candidates;
  tune::Algorithm choice = tune::Algorithm::kRing;   // of the library, untuned
  tune::Algorithm fastest = tune::Algorithm::kRing;  // as predicted
};

// What the library would agree on for ranks on these GPUs. An error: ranks that no communicator of ours has.
Status make_facts(const ExplainMachine& machine, const std::vector<int>& gpus, tune::Facts* facts,
                  IslandNode* tree);

Status explain(const ExplainMachine& machine, const std::vector<int>& gpus, const std::string& dtype,
               std::uint64_t count, ExplainReport* report);

// The slab's layout, by NCCL_SLAB_SLAB_MIB.
kernels::Layout library_layout(int ranks);

// What the library does with a shard of so many bytes, untuned: by call::make_plan(), for the facts above.
tune::Algorithm library_choice(const tune::Facts& facts, std::uint64_t shard_bytes);

// Bytes of an element; 0: not a type that the slab takes.
std::uint64_t element_bytes(const std::string& dtype);

std::string as_text(const ExplainReport& report);
std::string as_json(const ExplainReport& report);

// A table in Markdown over shards of 1 KiB to 256 MiB: predicted times, the choice, and its lead over the
// ring.
Status sweep_table(const ExplainMachine& machine, const std::vector<int>& gpus, std::string* text);

}  // namespace nccl_slab::tool
