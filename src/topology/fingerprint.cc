#include "topology/fingerprint.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "topology/hash.h"
#include "topology/islands.h"

namespace nccl_slab::topology {
namespace {

std::string gpu_text(const Gpu& gpu) {
  char numbers[64];
  std::snprintf(numbers, sizeof numbers, "/%d/%.1f/%d", gpu.architecture, gpu.link.speed, gpu.link.width);
  return gpu.model + numbers;
}

// A GPU and its paths to all others, the paths with what is at their end.
std::string surroundings(const Machine& machine, const PairLevels& levels, int gpu) {
  std::vector<std::string> paths;
  for (int other = 0; other < machine.gpu_count(); ++other)
    if (other != gpu)
      paths.push_back(path_word(levels.at(gpu, other)) +
                      gpu_text(machine.gpus[static_cast<std::size_t>(other)]));
  std::sort(paths.begin(), paths.end());
  std::string text = gpu_text(machine.gpus[static_cast<std::size_t>(gpu)]);
  for (const std::string& path : paths) text += "," + path;
  return text;
}

// The tree with its leaves told by their surroundings and all siblings
// sorted by their text: equal for permuted numbers.
std::string shape(const std::vector<std::string>& gpus, const PairLevels& levels, const IslandNode& node) {
  std::vector<std::string> parts;
  for (const IslandNode& child : node.children) parts.push_back(shape(gpus, levels, child));
  if (node.children.empty())
    for (const int gpu : node.ranks) parts.push_back(gpus[static_cast<std::size_t>(gpu)]);
  std::sort(parts.begin(), parts.end());
  std::string text = std::string("(") + path_word(joining_level(levels, node));
  for (const std::string& part : parts) text += ";" + part;
  return text + ")";
}

}  // namespace

std::uint64_t placement_fingerprint(const Machine& machine) {
  const PairLevels levels = machine.levels();
  std::vector<std::string> gpus;
  gpus.reserve(static_cast<std::size_t>(machine.gpu_count()));
  for (int gpu = 0; gpu < machine.gpu_count(); ++gpu) gpus.push_back(surroundings(machine, levels, gpu));
  return fnv1a(shape(gpus, levels, island_tree(levels)));
}

}  // namespace nccl_slab::topology
