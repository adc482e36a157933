// The machines that the tests of this folder go over: the emulated ones that are installed, and
// test/machines.
#pragma once

#include <string>
#include <vector>

#include "tool/explain_machine.h"
#include "tune/candidates.h"

namespace nccl_slab::tune {

// Paths of all descriptions of which every pair's path is known, sorted.
std::vector<std::string> machine_files();

// A failed expectation and an empty machine if it cannot be read. `name` without folder is in test/machines.
tool::ExplainMachine machine_of(const std::string& name);

// The first so many GPUs, in order.
std::vector<int> first_gpus(int count);

// What a communicator on these GPUs agrees on.
Facts facts_of(const tool::ExplainMachine& machine, const std::vector<int>& gpus);

// The traffic of one algorithm; a failed expectation if there is none.
Traffic traffic_of(const Facts& facts, Algorithm algorithm);

}  // namespace nccl_slab::tune
