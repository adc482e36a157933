#include "topology/path_class.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string>
#include <utility>

namespace nccl_slab::topology {
namespace {

constexpr std::array<std::pair<const char*, PathClass>, 9> kWords{{{"X", PathClass::kSelf},
                                                                   {"NV", PathClass::kNv},
                                                                   {"PIX", PathClass::kPix},
                                                                   {"PXB", PathClass::kPxb},
                                                                   {"PHB", PathClass::kPhb},
                                                                   {"NODE", PathClass::kNode},
                                                                   {"SYS", PathClass::kSys},
                                                                   {"SOC", PathClass::kSys},
                                                                   {"XGMI", PathClass::kNv}}};

std::optional<int> count_after_nv(std::string_view word) {
  int links = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data() + 2, end, links);
  if (error != std::errc() || stop != end || links <= 0) return std::nullopt;
  return links;
}

}  // namespace

const char* path_word(PathClass path) {
  for (const auto& [word, known] : kWords)
    if (known == path) return word;
  return "?";
}

std::optional<PathClass> parse_path(std::string_view word, int* links) {
  std::string upper(word);
  std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return std::toupper(c); });
  for (const auto& [known, path] : kWords)
    if (upper == known) {
      if (links && path == PathClass::kNv) *links = 1;
      return path;
    }
  if (!upper.starts_with("NV")) return std::nullopt;
  const std::optional<int> count = count_after_nv(upper);
  if (!count) return std::nullopt;
  if (links) *links = *count;
  return PathClass::kNv;
}

}  // namespace nccl_slab::topology
