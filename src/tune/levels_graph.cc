#include "tune/levels_graph.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string>

#include "tune/link_rates.h"

namespace nccl_slab::tune {
namespace {

using topology::Link;
using topology::PairLevels;
using topology::PathClass;
using Members = std::vector<int>;

// Groups of members that chains of pairs within `farthest` connect, by lowest member.
std::vector<Members> groups_within(const PairLevels& levels, Members open, int farthest) {
  std::vector<Members> groups;
  while (!open.empty()) {
    Members group{open.front()};
    open.erase(open.begin());
    for (std::size_t next = 0; next < group.size(); ++next) {
      const auto reached = std::stable_partition(open.begin(), open.end(), [&](int other) {
        return levels.distance(group[next], other) > farthest;
      });
      group.insert(group.end(), reached, open.end());
      open.erase(reached, open.end());
    }
    std::sort(group.begin(), group.end());
    groups.push_back(std::move(group));
  }
  return groups;
}

std::string name_of(const char* kind, const Members& members) {
  std::string name = kind;
  for (const int member : members) name += (member == members.front() ? " " : ",") + std::to_string(member);
  return name;
}

class Drawing {
 public:
  Drawing(const PairLevels& levels, const std::vector<Link>& links) : levels_(levels), links_(links) {}

  LinkGraph draw() {
    Members all;
    for (int device = 0; device < levels_.count(); ++device) all.push_back(device);
    nodes_.resize(all.size());
    for (const Members& socket : groups_within(levels_, all, PairLevels::farthest(PathClass::kNode)))
      draw_socket(socket);
    for (const int device : all) draw_gpu(device);
    return std::move(graph_);
  }

 private:
  Link link(int device) const {
    const auto index = static_cast<std::size_t>(device);
    return index < links_.size() ? links_[index] : Link{};
  }

  Link fastest(const Members& members) const {
    Link best = link(members.front());
    for (const int member : members)
      if (assumed_pcie_rate(link(member)) > assumed_pcie_rate(best)) best = link(member);
    return best;
  }

  void draw_socket(const Members& members) {
    const int socket = graph_.add_socket(name_of("socket", members), assumed_socket_rate(fastest(members)));
    for (const Members& bridge : groups_within(levels_, members, PairLevels::farthest(PathClass::kPhb)))
      draw_switches(bridge, graph_.add(LinkNode::Kind::kHostBridge, name_of("bridge", bridge), socket, 0),
                    PairLevels::farthest(PathClass::kPxb));
  }

  // A switch for each group within `farthest`, and below it those of the next nearer distance. A group that
  // is all of its switch's needs no second one.
  void draw_switches(const Members& members, int parent, int farthest) {
    for (const Members& group : groups_within(levels_, members, farthest)) {
      const bool same = group.size() == members.size() && is_switch(parent);
      const int node = group.size() == 1 || same ? parent : add_switch(group, parent);
      for (const int member : group) nodes_[static_cast<std::size_t>(member)] = node;
      const int nearer = next_distance(group, farthest);
      if (nearer > PairLevels::farthest(PathClass::kNv)) draw_switches(group, node, nearer);
    }
  }

  bool is_switch(int node) const {
    return graph_.nodes()[static_cast<std::size_t>(node)].kind == LinkNode::Kind::kSwitch;
  }

  int add_switch(const Members& members, int parent) {
    return graph_.add(LinkNode::Kind::kSwitch, name_of("switch", members), parent,
                      assumed_pcie_rate(fastest(members)));
  }

  // The largest distance between members that is below `farthest`, 0 if there is none.
  int next_distance(const Members& members, int farthest) const {
    int next = 0;
    for (const int a : members)
      for (const int b : members)
        if (a != b && levels_.distance(a, b) < farthest) next = std::max(next, levels_.distance(a, b));
    return next;
  }

  void draw_gpu(int device) {
    graph_.add(LinkNode::Kind::kGpu, "gpu " + std::to_string(device),
               nodes_[static_cast<std::size_t>(device)], assumed_pcie_rate(link(device)));
  }

  const PairLevels& levels_;
  const std::vector<Link>& links_;
  LinkGraph graph_;
  std::vector<int> nodes_;  // that a device hangs under
};

}  // namespace

LinkGraph graph_from_levels(const PairLevels& levels, const std::vector<Link>& links) {
  return Drawing(levels, links).draw();
}

std::vector<int> gpus_from_levels(const PairLevels& levels) {
  std::vector<int> gpus;
  for (int rank = 0; rank < levels.count(); ++rank) {
    int gpu = 0;
    while (levels.at(rank, gpu) != PathClass::kSelf) ++gpu;
    gpus.push_back(gpu);
  }
  return gpus;
}

}  // namespace nccl_slab::tune
