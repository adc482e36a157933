#include "machines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "tool/explain_report.h"

namespace nccl_slab::tune {

std::vector<std::string> machine_files() {
  std::vector<std::string> files;
  for (const char* folder : {NCCL_SLAB_TEST_MACHINES, NCCL_SLAB_EMULATED_MACHINES})
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::string path = entry.path();
      tool::ExplainMachine machine;
      if (tool::load_explain_machine(path, &machine) && machine.levels.count() >= 2 &&
          !machine.levels.has(topology::PathClass::kUnknown))
        files.push_back(path);
    }
  std::sort(files.begin(), files.end());
  return files;
}

tool::ExplainMachine machine_of(const std::string& name) {
  tool::ExplainMachine machine;
  const bool path = name.find('/') != std::string::npos;
  const Status status =
      tool::load_explain_machine(path ? name : NCCL_SLAB_TEST_MACHINES "/" + name, &machine);
  EXPECT_TRUE(status) << status.what();
  return machine;
}

std::vector<int> first_gpus(int count) {
  std::vector<int> gpus(static_cast<std::size_t>(count));
  std::iota(gpus.begin(), gpus.end(), 0);
  return gpus;
}

Facts facts_of(const tool::ExplainMachine& machine, const std::vector<int>& gpus) {
  Facts facts;
  IslandNode tree;
  const Status status = tool::make_facts(machine, gpus, &facts, &tree);
  EXPECT_TRUE(status) << status.what();
  return facts;
}

Traffic traffic_of(const Facts& facts, Algorithm algorithm) {
  for (const Traffic& traffic : candidates(facts))
    if (traffic.algorithm == algorithm) return traffic;
  ADD_FAILURE() << "no candidate " << word(algorithm);
  return {};
}

}  // namespace nccl_slab::tune
