#include "topology/island_text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>
#include <vector>

namespace nccl_slab::topology {
namespace {

constexpr int kDeepest = 8;  // more levels than any machine has, few enough for the stack

// tree  := group ('|' group)*
// group := '(' tree ')' | rank (',' rank)*
class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}

  bool parse(IslandNode* tree) { return tree_of(tree, 0) && next() == '\0'; }

 private:
  char next() {
    while (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_.front()))) rest_.remove_prefix(1);
    return rest_.empty() ? '\0' : rest_.front();
  }

  bool take(char wanted) {
    if (next() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool tree_of(IslandNode* tree, int level) {
    do {
      IslandNode group;
      if (!group_of(&group, level)) return false;
      tree->ranks.insert(tree->ranks.end(), group.ranks.begin(), group.ranks.end());
      tree->children.push_back(std::move(group));
    } while (take('|'));
    return true;
  }

  bool group_of(IslandNode* group, int level) {
    if (take('(')) return level < kDeepest && tree_of(group, level + 1) && take(')');
    do {
      int rank = 0;
      if (!rank_of(&rank)) return false;
      group->ranks.push_back(rank);
    } while (take(','));
    return true;
  }

  bool rank_of(int* rank) {
    next();
    const auto [stop, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), *rank);
    if (error != std::errc() || *rank < 0) return false;
    rest_.remove_prefix(static_cast<std::size_t>(stop - rest_.data()));
    return true;
  }

  std::string_view rest_;
};

Status complaint(std::string_view text, int nranks, const std::string& found) {
  return Status::error("islands \"" + std::string(text) + "\": " + found +
                       "; expected every rank from 0 to " + std::to_string(nranks - 1) +
                       " exactly once, as in 0,1,2,3|4,5,6,7 or (0,1|2,3)|(4,5|6,7)");
}

// The first thing wrong with the ranks of a tree, empty if nothing is.
std::string wrong_rank(std::vector<int> ranks, int nranks) {
  std::sort(ranks.begin(), ranks.end());
  for (int rank = 0; rank < nranks; ++rank) {
    const auto count = std::count(ranks.begin(), ranks.end(), rank);
    if (count == 0) return "rank " + std::to_string(rank) + " is missing";
    if (count > 1) return "rank " + std::to_string(rank) + " occurs more than once";
  }
  if (static_cast<int>(ranks.size()) > nranks) return "there is no rank " + std::to_string(ranks.back());
  return "";
}

std::string joined(const std::vector<int>& ranks) {
  std::string text;
  for (const int rank : ranks) text += (text.empty() ? "" : ",") + std::to_string(rank);
  return text;
}

}  // namespace

Status parse_islands(std::string_view text, int nranks, IslandNode* tree) {
  IslandNode parsed;
  if (!Parser(text).parse(&parsed)) return complaint(text, nranks, "this is not a list of islands");
  const std::string wrong = wrong_rank(parsed.ranks, nranks);
  if (!wrong.empty()) return complaint(text, nranks, wrong);
  *tree = canonical(std::move(parsed));
  return Status::ok();
}

bool is_island_text(std::string_view text) {
  IslandNode parsed;
  return Parser(text).parse(&parsed) &&
         wrong_rank(parsed.ranks, static_cast<int>(parsed.ranks.size())).empty();
}

std::string island_text(const IslandNode& tree) {
  if (tree.children.empty()) return joined(tree.ranks);
  std::string text;
  for (const IslandNode& child : tree.children) {
    if (!text.empty()) text += "|";
    text += child.children.empty() ? island_text(child) : "(" + island_text(child) + ")";
  }
  return text;
}

}  // namespace nccl_slab::topology
