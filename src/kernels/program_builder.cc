// How a program follows from the tree. For every node, each byte of every shard has one *holder*: the rank of
// the node that ends up with the node's partial of it. At the root that is the shard's owner. Top-down: what
// the ranks of a node hold for others is split evenly over the members of each child, in order, so that a
// child sends only partials out. Cutting all shards at all boundaries of all holders gives *atoms*; every
// list of a program is a list of atoms.
#include "kernels/program_builder.h"

#include <algorithm>
#include <map>
#include <set>

namespace nccl_slab::kernels {
namespace {

struct Segment {
  int shard;
  std::uint32_t begin, end;
};

// A node of the tree with what each member holds. Children of one rank are left out: a single rank needs no
// level.
struct Node {
  std::vector<int> ranks;
  std::vector<Node> children;
  std::map<int, std::vector<Segment>> held;

  bool contains(int rank) const { return std::find(ranks.begin(), ranks.end(), rank) != ranks.end(); }
  int holder(const Segment& atom) const {
    for (const auto& [rank, segments] : held)
      for (const Segment& s : segments)
        if (s.shard == atom.shard && s.begin <= atom.begin && atom.end <= s.end) return rank;
    return -1;
  }
};

// The groups that a node's members come in: its children, and single ranks for the rest, in the node's rank
// order.
struct Member {
  const Node* node;  // null for a single rank
  int rank;
  int holder(const Segment& atom) const { return node ? node->holder(atom) : rank; }
  bool contains(int r) const { return node ? node->contains(r) : rank == r; }
};

std::vector<Member> members(const Node& node) {
  std::vector<Member> result;
  std::set<const Node*> seen;
  for (const int rank : node.ranks) {
    const auto child = std::find_if(node.children.begin(), node.children.end(),
                                    [rank](const Node& c) { return c.contains(rank); });
    if (child == node.children.end())
      result.push_back({nullptr, rank});
    else if (seen.insert(&*child).second)
      result.push_back({&*child, -1});
  }
  return result;
}

Node copy_tree(const IslandNode& tree) {
  Node node;
  node.ranks = tree.ranks;
  for (const IslandNode& child : tree.children)
    if (child.ranks.size() > 1) node.children.push_back(copy_tree(child));
  return node;
}

// Splits the concatenation of `segments` into `parts` equal lengths. False if kFractions is too coarse. A node
// whose only child holds all its ranks has nothing to split.
bool split(const std::vector<Segment>& segments, std::size_t parts,
           std::vector<std::vector<Segment>>* result) {
  std::uint64_t total = 0;
  for (const Segment& s : segments) total += s.end - s.begin;
  if (total % parts != 0) return false;
  const std::uint64_t share = total / parts;
  result->assign(parts, {});
  if (share == 0) return true;
  std::uint64_t position = 0;
  for (Segment s : segments) {
    while (s.begin < s.end) {
      const std::size_t part = position / share;
      const std::uint64_t room = (part + 1) * share - position;
      const auto length = static_cast<std::uint32_t>(std::min<std::uint64_t>(room, s.end - s.begin));
      (*result)[part].push_back({s.shard, s.begin, s.begin + length});
      s.begin += length;
      position += length;
    }
  }
  return true;
}

bool assign_children(Node* node) {
  for (Node& child : node->children) {
    std::vector<Segment> outside;
    for (const int rank : node->ranks)
      if (!child.contains(rank))
        outside.insert(outside.end(), node->held[rank].begin(), node->held[rank].end());
    std::vector<std::vector<Segment>> parts;
    if (!split(outside, child.ranks.size(), &parts)) return false;
    for (std::size_t k = 0; k < child.ranks.size(); ++k) {
      std::vector<Segment>& held = child.held[child.ranks[k]];
      held = node->held[child.ranks[k]];
      held.insert(held.end(), parts[k].begin(), parts[k].end());
    }
    if (!assign_children(&child)) return false;
  }
  return true;
}

void collect_cuts(const Node& node, std::vector<std::set<std::uint32_t>>* cuts) {
  for (const auto& [rank, segments] : node.held)
    for (const Segment& s : segments) (*cuts)[s.shard].insert({s.begin, s.end});
  for (const Node& child : node.children) collect_cuts(child, cuts);
}

std::vector<Segment> cut_atoms(const Node& root, int ranks) {
  std::vector<std::set<std::uint32_t>> cuts(ranks, {0, kFractions});
  collect_cuts(root, &cuts);
  std::vector<Segment> atoms;
  for (int shard = 0; shard < ranks; ++shard)
    for (auto cut = cuts[shard].begin(); std::next(cut) != cuts[shard].end(); ++cut)
      atoms.push_back({shard, *cut, *std::next(cut)});
  return atoms;
}

// Nodes that contain a rank, innermost first.
std::vector<const Node*> path_of(const Node& root, int rank) {
  std::vector<const Node*> path;
  for (const Node* node = &root; node != nullptr;) {
    path.insert(path.begin(), node);
    const auto child = std::find_if(node->children.begin(), node->children.end(),
                                    [rank](const Node& c) { return c.contains(rank); });
    node = child == node->children.end() ? nullptr : &*child;
  }
  return path;
}

// The index in the rank's path of the outermost node where it still holds the atom; -1 if it only
// contributes.
int top_level(const std::vector<const Node*>& path, int rank, const Segment& atom) {
  int level = -1;
  while (level + 1 < static_cast<int>(path.size()) && path[level + 1]->holder(atom) == rank) ++level;
  return level;
}

struct LaneKey {
  int from, to, lane;
  auto operator<=>(const LaneKey&) const = default;  // NOLINT(modernize-use-nullptr): clang's own 0
};

struct LaneInfo {
  std::vector<Segment> atoms;
  bool raw = false;
  int producer_level = -1;  // -1: the send role
  std::uint32_t slot_packs = 0, offset_packs = 0;

  std::uint32_t fraction() const {
    std::uint32_t sum = 0;
    for (const Segment& s : atoms) sum += s.end - s.begin;
    return sum;
  }
};

using Lanes = std::map<LaneKey, LaneInfo>;

// Slots are cut from the pair's ring in proportion to what the lanes carry.
Status place_lanes(const Layout& layout, Lanes* lanes, std::uint32_t* longest_chunk) {
  std::map<std::pair<int, int>, std::uint32_t> pair_total, pair_offset;
  for (const auto& [key, info] : *lanes) pair_total[{key.from, key.to}] += info.fraction();
  *longest_chunk = ~0u;
  for (auto& [key, info] : *lanes) {
    const std::pair<int, int> pair{key.from, key.to};
    const std::uint32_t fraction = info.fraction();
    if (fraction == 0) return Status::error("a lane of the island tree carries nothing");
    const std::uint64_t ring = static_cast<std::uint64_t>(layout.ring_packs) * fraction / pair_total[pair];
    info.slot_packs = static_cast<std::uint32_t>(ring / kSlots / 8 * 8);
    info.offset_packs = pair_offset[pair];
    pair_offset[pair] += info.slot_packs * kSlots;
    const bool whole = info.atoms.size() == 1 && fraction == kFractions;
    const std::uint32_t slack = whole ? 0 : 2 * static_cast<std::uint32_t>(info.atoms.size());
    if (info.slot_packs <= slack) return Status::error("the slab is too small for one pack per slot");
    const std::uint64_t chunk = static_cast<std::uint64_t>(info.slot_packs - slack) * kFractions / fraction;
    *longest_chunk = std::min<std::uint32_t>(*longest_chunk, static_cast<std::uint32_t>(chunk));
  }
  return Status::ok();
}

// Everything that is derived once for all ranks.
struct Derived {
  Node root;
  std::vector<Segment> atoms;
  std::vector<std::vector<const Node*>> paths;
  Lanes lanes;
  std::uint32_t longest_chunk = 0, layout_id = 0;
};

void derive_lanes(Derived* d, int ranks) {
  for (const Segment& atom : d->atoms) {
    for (int rank = 0; rank < ranks; ++rank) {
      const auto& path = d->paths[rank];
      const int level = top_level(path, rank, atom);
      if (level + 1 == static_cast<int>(path.size())) continue;  // its own shard
      const int to = path[level + 1]->holder(atom);
      LaneInfo& info = d->lanes[{rank, to, top_level(d->paths[to], to, atom)}];
      info.atoms.push_back(atom);
      info.raw = level < 0;
      info.producer_level = level;
    }
  }
}

Piece make_piece(const LaneInfo& info, std::size_t index) {
  Piece piece{};
  std::uint32_t before = 0;
  for (std::size_t k = 0; k < index; ++k) before += info.atoms[k].end - info.atoms[k].begin;
  const Segment& atom = info.atoms[index];
  piece.begin = static_cast<std::uint16_t>(atom.begin);
  piece.end = static_cast<std::uint16_t>(atom.end);
  piece.before = static_cast<std::uint16_t>(before);
  piece.index = static_cast<std::uint8_t>(index);
  piece.shard = static_cast<std::uint8_t>(atom.shard);
  return piece;
}

std::size_t atom_index(const LaneInfo& info, const Segment& atom) {
  const auto found = std::find_if(info.atoms.begin(), info.atoms.end(), [&](const Segment& s) {
    return s.shard == atom.shard && s.begin == atom.begin;
  });
  return found - info.atoms.begin();
}

// Fills one rank's program from the derived lanes.
class Writer {
 public:
  Writer(const Derived& derived, int rank, int ranks, Program* program)
      : d_(derived), rank_(rank), ranks_(ranks), program_(*program) {}

  Status write() {
    program_ = Program{};
    program_.rank = rank_;
    program_.ranks = ranks_;
    program_.levels = static_cast<int>(d_.paths[rank_].size());
    program_.layout_id = d_.layout_id;
    program_.longest_chunk = d_.longest_chunk;
    program_.send = Level{};
    write_outbound(-1, &program_.send);
    for (int level = 0; level < program_.levels; ++level) {
      Level& out = program_.level[level];
      write_inbound(level, &out);
      write_outbound(level, &out);
      write_tasks(level, &out);
    }
    return fits_ ? Status::ok() : Status::error("the island tree needs more pieces than a program holds");
  }

 private:
  // Lanes of one producing role, nearest destination (rank+1, rank+2, ...) first; lanes that feed inner
  // levels come first.
  void write_outbound(int producer_level, Level* out) {
    std::vector<std::pair<LaneKey, const LaneInfo*>> mine;
    for (const auto& [key, info] : d_.lanes)
      if (key.from == rank_ && info.producer_level == producer_level) mine.emplace_back(key, &info);
    std::sort(mine.begin(), mine.end(), [this](const auto& a, const auto& b) {
      return std::pair(a.first.lane, distance(a.first.to)) < std::pair(b.first.lane, distance(b.first.to));
    });
    out->first_outbound = static_cast<std::uint16_t>(outbound_);
    out->outbound = static_cast<std::uint16_t>(mine.size());
    for (const auto& [key, info] : mine) {
      Lane& lane = program_.outbound[outbound_++];
      lane = make_lane(key.to, key.lane, *info);
      lane.first_piece = static_cast<std::uint16_t>(pieces_);
      lane.pieces = static_cast<std::uint16_t>(info->atoms.size());
      for (std::size_t k = 0; k < info->atoms.size(); ++k) add_piece(make_piece(*info, k));
    }
    out->even_pieces = even_pieces(*out);
  }

  std::uint16_t even_pieces(const Level& level) const {
    if (!fits_) return 0;
    const Lane* first = program_.outbound + level.first_outbound;
    const auto even = [&](const Lane& lane) {
      const Piece* piece = program_.piece + lane.first_piece;
      return lane.pieces == first->pieces && std::all_of(piece, piece + lane.pieces, [](const Piece& each) {
               return each.begin == 0 && each.end == kFractions;
             });
    };
    return level.outbound != 0 && std::all_of(first, first + level.outbound, even) ? first->pieces : 0;
  }

  void write_inbound(int level, Level* out) {
    out->first_inbound = static_cast<std::uint16_t>(inbound_);
    for (const auto& [key, info] : d_.lanes)
      if (key.to == rank_ && key.lane == level)
        program_.inbound[inbound_++] = make_lane(key.from, key.lane, info);
    out->inbound = static_cast<std::uint16_t>(inbound_ - out->first_inbound);
  }

  void write_tasks(int level, Level* out) {
    out->first_task = static_cast<std::uint16_t>(tasks_);
    for (const Segment& atom : d_.atoms)
      if (top_level(d_.paths[rank_], rank_, atom) == level) write_task(level, atom);
    out->tasks = static_cast<std::uint16_t>(tasks_ - out->first_task);
  }

  void write_task(int level, const Segment& atom) {
    if (tasks_ == kMaxPieces || inputs_ + kMaxRanks > kMaxInputs) {
      fits_ = false;
      return;
    }
    Task& task = program_.task[tasks_++];
    write_destination(level, atom, &task);
    task.first_input = static_cast<std::uint16_t>(inputs_);
    for (int inner = 0; inner <= level; ++inner) write_inputs(inner, level, atom);
    task.inputs = static_cast<std::uint16_t>(inputs_ - task.first_input);
  }

  void write_destination(int level, const Segment& atom, Task* task) {
    const auto& path = d_.paths[rank_];
    if (level + 1 == static_cast<int>(path.size())) {
      task->piece = make_piece({{atom}}, 0);
      task->outbound = kOutput;
      return;
    }
    const int to = path[level + 1]->holder(atom);
    const LaneInfo& info = d_.lanes.at({rank_, to, top_level(d_.paths[to], to, atom)});
    task->piece = make_piece(info, atom_index(info, atom));
    for (int k = 0; k < outbound_; ++k)
      if (program_.outbound[k].peer == to && program_.outbound[k].lane == top_level(d_.paths[to], to, atom))
        task->outbound = static_cast<std::uint8_t>(k);
  }

  // The summands that join at one node of our path, in its order. Our own contribution joins at the innermost
  // node, in its place among the ranks; at outer nodes our own partial is what has been summed so far, and
  // comes first.
  void write_inputs(int inner, int level, const Segment& atom) {
    for (const Member& member : members(*d_.paths[rank_][inner])) {
      if (member.contains(rank_)) {
        if (inner == 0) program_.input[inputs_++] = Input{1, 0, 0, 0, 0};
        continue;
      }
      const int from = member.holder(atom);
      const LaneInfo& info = d_.lanes.at({from, rank_, level});
      const Piece piece = make_piece(info, atom_index(info, atom));
      program_.input[inputs_++] = Input{0, inbound_index(from, level), piece.index, 0, piece.before};
    }
  }

  std::uint8_t inbound_index(int from, int level) const {
    for (int k = 0; k < inbound_; ++k)
      if (program_.inbound[k].peer == from && program_.inbound[k].lane == level)
        return static_cast<std::uint8_t>(k);
    return 0;
  }

  static Lane make_lane(int peer, int lane, const LaneInfo& info) {
    Lane result{};
    result.peer = static_cast<std::uint8_t>(peer);
    result.lane = static_cast<std::uint8_t>(lane);
    result.raw = info.raw;
    result.slot_packs = info.slot_packs;
    result.offset_packs = info.offset_packs;
    return result;
  }

  void add_piece(const Piece& piece) {
    if (pieces_ == kMaxPieces)
      fits_ = false;
    else
      program_.piece[pieces_++] = piece;
  }

  int distance(int peer) const { return (peer - rank_ + ranks_) % ranks_; }

  const Derived& d_;
  const int rank_, ranks_;
  Program& program_;
  int inbound_ = 0, outbound_ = 0, tasks_ = 0, pieces_ = 0, inputs_ = 0;
  bool fits_ = true;
};

Status check_tree(const IslandNode& node, int ranks, int depth) {
  if (depth > kMaxLevels) return Status::error("an island tree has at most 3 levels");
  std::vector<int> inside;
  for (const IslandNode& child : node.children) {
    if (const Status status = check_tree(child, ranks, child.ranks.size() > 1 ? depth + 1 : depth); !status)
      return status;
    inside.insert(inside.end(), child.ranks.begin(), child.ranks.end());
  }
  std::vector<int> own = node.ranks;
  std::sort(own.begin(), own.end());
  std::sort(inside.begin(), inside.end());
  if (!node.children.empty() && inside != own)
    return Status::error("the children of an island must hold each of its ranks once");
  if (std::adjacent_find(own.begin(), own.end()) != own.end() || own.empty() || own.front() < 0 ||
      own.back() >= ranks)
    return Status::error("an island tree must hold each rank once");
  return Status::ok();
}

std::uint32_t hash_tree(const IslandNode& node, std::uint32_t hash) {
  const auto add = [&hash](std::uint32_t value) { hash = (hash ^ value) * 16777619u; };
  add(100 + static_cast<std::uint32_t>(node.children.size()));
  for (const int rank : node.ranks) add(static_cast<std::uint32_t>(rank));
  for (const IslandNode& child : node.children) hash = hash_tree(child, hash);
  return hash;
}

}  // namespace

Status build_programs(const IslandNode& tree, const Layout& layout, std::vector<Program>* programs) {
  const int ranks = layout.ranks;
  if (static_cast<int>(tree.ranks.size()) != ranks || ranks < 2 || ranks > kMaxRanks)
    return Status::error("an island tree must hold 2 to 8 ranks, and each rank of the communicator");
  if (const Status status = check_tree(tree, ranks, 1); !status) return status;
  Derived derived;
  derived.root = copy_tree(tree);
  for (int rank = 0; rank < ranks; ++rank) derived.root.held[rank] = {{rank, 0, kFractions}};
  if (!assign_children(&derived.root)) return Status::error("the island tree cuts shards too finely");
  derived.atoms = cut_atoms(derived.root, ranks);
  for (int rank = 0; rank < ranks; ++rank) derived.paths.push_back(path_of(derived.root, rank));
  derive_lanes(&derived, ranks);
  if (const Status status = place_lanes(layout, &derived.lanes, &derived.longest_chunk); !status)
    return status;
  derived.layout_id = hash_tree(tree, 2166136261u) | 1u;
  programs->resize(ranks);
  for (int rank = 0; rank < ranks; ++rank)
    if (const Status status = Writer(derived, rank, ranks, &(*programs)[rank]).write(); !status)
      return status;
  return Status::ok();
}

TwoIslands two_islands(const IslandNode& tree, int rank) {
  if (!are_two_islands(tree)) return {};
  const auto& first = tree.children[0].ranks;
  const auto& second = tree.children[1].ranks;
  const bool in_first = std::find(first.begin(), first.end(), rank) != first.end();
  const auto &own = in_first ? first : second, &other = in_first ? second : first;
  TwoIslands result{};
  result.members = static_cast<std::int32_t>(own.size());
  for (std::size_t k = 0; k < own.size(); ++k) {
    if (own[k] == rank) result.place = static_cast<std::int32_t>(k);
    result.mate[k] = static_cast<std::uint8_t>(own[k]);
    result.partner[k] = static_cast<std::uint8_t>(other[k]);
  }
  return result;
}

std::vector<std::uint64_t> pair_packs(const std::vector<Program>& programs, std::uint64_t packs,
                                      std::uint32_t chunk) {
  const std::size_t ranks = programs.size();
  std::vector<std::uint64_t> result(ranks * ranks, 0);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const Program& program = programs[rank];
    for (const Lane& lane : program.outbound) {
      for (int k = lane.first_piece; k < lane.first_piece + lane.pieces; ++k) {
        const Piece& piece = program.piece[k];
        for (std::uint64_t at = 0; at < packs; at += chunk) {
          const auto length = static_cast<std::uint32_t>(std::min<std::uint64_t>(chunk, packs - at));
          result[rank * ranks + lane.peer] +=
              fraction_packs(length, piece.end) - fraction_packs(length, piece.begin);
        }
      }
    }
  }
  return result;
}

}  // namespace nccl_slab::kernels
