#include "fixtures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "topology/topology_file.h"

namespace nccl_slab::topology {

std::vector<std::string> machine_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(NCCL_SLAB_TEST_MACHINES)) {
    const std::string kind = entry.path().extension();
    if (kind == ".txt" || kind == ".xml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string content_of(const std::string& path) {
  std::string text;
  const Status status = read_text_file(path, &text);
  EXPECT_TRUE(status) << status.what();
  return text;
}

Machine machine_named(const std::string& name) {
  Machine machine;
  const Status status = parse_topology(content_of(NCCL_SLAB_TEST_MACHINES "/" + name), &machine);
  EXPECT_TRUE(status) << name << ": " << status.what();
  return machine;
}

Machine permuted(const Machine& machine, const std::vector<int>& order) {
  return select_gpus(machine, order);
}

PairLevels levels_from(const std::vector<std::string>& rows) {
  PairLevels levels(static_cast<int>(rows.size()));
  for (int row = 0; row < levels.count(); ++row) {
    std::istringstream words(rows[static_cast<std::size_t>(row)]);
    std::string word;
    for (int column = 0; words >> word; ++column)
      levels.set(row, column, parse_path(word).value_or(PathClass::kUnknown));
  }
  return levels;
}

}  // namespace nccl_slab::topology
