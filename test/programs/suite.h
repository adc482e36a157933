// The rank suite's cases and what they work with. A case runs on every rank of a team in step. What it finds
// wrong it notes with expect() and goes on, so that no rank leaves the others waiting in a collective; only a
// failing CUDA or NCCL call throws, and ends the whole run. Thread safety: each rank has its own Suite.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "numbers.h"
#include "require.h"
#include "team.h"

namespace programs {

struct SuiteOptions {
  TeamOptions team;
  std::vector<std::string> cases;  // empty: all but those on request
  uint64_t seed = 1;
  int repeat = 50;  // of the cases that repeat
};

struct Suite {
  const SuiteOptions& options;
  const Member& member;
  ncclComm_t comm;      // of all ranks
  cudaStream_t stream;  // a non-blocking one
  std::string complaint;

  int rank() const { return member.rank; }
  int ranks() const { return member.ranks; }
  // Keeps the first complaint.
  void expect(bool holds, const std::string& claim) {
    if (!holds && complaint.empty()) complaint = claim;
  }
  // Up to that many microseconds, different on every rank and call.
  void skew(int call, unsigned limit_us) const;
};

struct Case {
  const char* name;
  void (*run)(Suite&);
  bool on_request = false;  // runs only where it is named
};

// In the order in which they run, by file.
std::vector<Case> shape_cases();
std::vector<Case> memory_cases();
std::vector<Case> operation_cases();
std::vector<Case> repetition_cases();
std::vector<Case> graph_cases();
std::vector<Case> stream_cases();
std::vector<Case> group_cases();
std::vector<Case> batch_cases();
std::vector<Case> creation_cases();
std::vector<Case> communicator_cases();
std::vector<Case> lifetime_cases();

std::vector<Case> all_cases();

// The three types that a reduce-scatter is about.
std::vector<const NumberType*> float_types();

}  // namespace programs
