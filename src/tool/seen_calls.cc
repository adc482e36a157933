#include "tool/seen_calls.h"

#include <stdlib.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace nccl_slab::tool {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCalls = "\"calls\": ";
constexpr char kVariable[] = "NCCL_SLAB_STATS_FILE";

std::uint64_t number_at(std::string_view text) {
  std::uint64_t number = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// {"rank": .., "slab": {"calls": ..}, "forward": {WORD: {"calls": ..}, ...}, "algorithms": the slab's calls again}
void add_rank(std::string_view line, SeenCalls* seen) {
  line = line.substr(0, line.find("\"algorithms\""));
  bool first = true;
  for (std::size_t at; (at = line.find(kCalls)) != std::string_view::npos; first = false) {
    line.remove_prefix(at + kCalls.size());
    const std::uint64_t calls = number_at(line);
    seen->calls += calls;
    if (first) seen->by_slab += calls;
  }
  seen->ranks += first ? 0 : 1;
}

}  // namespace

void add_statistics(std::string_view json, SeenCalls* seen) {
  while (!json.empty()) {
    const std::size_t end = std::min(json.find('\n'), json.size());
    add_rank(json.substr(0, end), seen);
    json.remove_prefix(std::min(end + 1, json.size()));
  }
}

std::string sentence(const SeenCalls& seen) {
  if (seen.ranks == 0)
    return "0 calls seen: the program made no communicator on this host, links NCCL statically, or opens it "
           "by a "
           "path of its own";
  return std::to_string(seen.calls) + " reduce-scatters seen, " + std::to_string(seen.by_slab) +
         " of them served by the slab, on communicators with " + std::to_string(seen.ranks) + " ranks";
}

Status CallCounter::open() {
  if (const char* chosen = ::getenv(kVariable); chosen != nullptr && *chosen != '\0') return Status::ok();
  const char* parent = ::getenv("TMPDIR");
  std::string folder =
      std::string(parent == nullptr || *parent == '\0' ? "/tmp" : parent) + "/nccl-slab-run-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr)
    return Status::error("cannot make " + folder + ": " + std::strerror(errno));
  folder_ = folder;
  ::setenv(kVariable, (folder_ + "/%p").c_str(), 1);
  return Status::ok();
}

SeenCalls CallCounter::seen() const {
  SeenCalls seen;
  std::error_code ignored;
  for (const auto& file : fs::directory_iterator(folder_, ignored)) {
    std::ostringstream text;
    text << std::ifstream(file.path()).rdbuf();
    add_statistics(text.str(), &seen);
  }
  return seen;
}

CallCounter::~CallCounter() {
  std::error_code ignored;
  if (counts()) fs::remove_all(folder_, ignored);
}

}  // namespace nccl_slab::tool
