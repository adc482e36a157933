// The topologies of test/machines, for the tests of this folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/machine.h"

namespace nccl_slab::topology {

// Paths of all files of test/machines that hold a topology, sorted.
std::vector<std::string> machine_files();

std::string content_of(const std::string& path);

// Reads test/machines/<name>; a failed expectation and an empty machine if that does not work.
Machine machine_named(const std::string& name);

// The machine with its GPUs in another order: the new GPU i is the old order[i].
Machine permuted(const Machine& machine, const std::vector<int>& order);

// Levels from rows of words, e.g. {"X PIX SYS", "PIX X SYS", "SYS SYS X"}.
PairLevels levels_from(const std::vector<std::string>& rows);

}  // namespace nccl_slab::topology
