#include "tool/launched_rank.h"

#include <unistd.h>

#include <charconv>
#include <cstring>

#include "topology/hash.h"

namespace nccl_slab::tool {
namespace {

constexpr const char* kPairs[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                     {"PMI_RANK", "PMI_SIZE"},
                                     {"SLURM_PROCID", "SLURM_NTASKS"},
                                     {"RANK", "WORLD_SIZE"}};

constexpr const char* kJobWords[] = {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "SLURM_JOB_ID",
                                     "SLURM_STEP_ID",  "TORCHELASTIC_RUN_ID",     "MASTER_PORT"};

bool number(const char* text, int* value) {
  if (text == nullptr) return false;
  const char* end = text + std::strlen(text);
  const auto result = std::from_chars(text, end, *value);
  return result.ec == std::errc() && result.ptr == end && *value >= 0;
}

}  // namespace

// A job of one task (an interactive shell under Slurm) is no launcher of ranks.
LaunchedRank launched_rank(const char* (*environment)(const char*)) {
  for (const auto& [rank_name, ranks_name] : kPairs) {
    LaunchedRank found;
    if (number(environment(rank_name), &found.rank) && number(environment(ranks_name), &found.ranks) &&
        found.ranks > 1 && found.rank < found.ranks)
      return found;
  }
  return {};
}

std::string launched_job(const char* (*environment)(const char*)) {
  std::string words;
  for (const char* name : kJobWords)
    if (const char* value = environment(name); value != nullptr && *value != '\0')
      words += std::string(value) + '\n';
  return words.empty() ? std::to_string(::getppid()) : std::to_string(topology::fnv1a(words));
}

}  // namespace nccl_slab::tool
