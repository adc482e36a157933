#include "device/memory_limit.h"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace nccl_slab::device {
namespace {

// Where a version of control groups has its folders, and how it calls the files and fields of one.
struct Hierarchy {
  const char *folder, *limit, *usage, *active_cache, *inactive_cache;
};
constexpr Hierarchy kVersion1{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                              "total_active_file", "total_inactive_file"};
constexpr Hierarchy kVersion2{"/sys/fs/cgroup", "memory.max", "memory.current", "active_file",
                              "inactive_file"};

// False where there is no such file or no number in it: no limit is the word "max".
bool read_number(const std::string& path, std::uint64_t* number) {
  return static_cast<bool>(std::ifstream(path) >> *number);
}

// The number behind a name at the start of a line; `otherwise` if there is none.
std::uint64_t field(const std::string& path, const std::string& name, std::uint64_t otherwise) {
  std::ifstream file(path);
  for (std::string line, word; std::getline(file, line);) {
    std::istringstream words(line);
    if (std::uint64_t number = 0; words >> word >> number && word == name) return number;
  }
  return otherwise;
}

std::uint64_t left_in(const std::string& group, const Hierarchy& names) {
  std::uint64_t limit = 0, usage = 0;
  if (!read_number(group + "/" + names.limit, &limit) || !read_number(group + "/" + names.usage, &usage))
    return kNoLimit;
  const std::string statistics = group + "/memory.stat";
  const std::uint64_t cache =
      field(statistics, names.active_cache, 0) + field(statistics, names.inactive_cache, 0);
  const std::uint64_t taken = usage - std::min(usage, cache);
  return limit - std::min(limit, taken);
}

// The group and all above it. In a container the path may be the host's and the folder the container's own:
// then only the topmost is there, and it is the right one.
std::uint64_t left_up_from(const std::string& folder, std::string path, const Hierarchy& names) {
  std::uint64_t least = kNoLimit;
  for (; !path.empty(); path.erase(path.rfind('/'))) least = std::min(least, left_in(folder + path, names));
  return std::min(least, left_in(folder, names));
}

// One line of /proc/self/cgroup: number, controllers, path, with colons between them.
std::uint64_t left_by(const std::string& root, const std::string& line) {
  const std::size_t first = line.find(':'), second = line.find(':', first + 1);
  if (second == std::string::npos || line.compare(second, 2, ":/") != 0) return kNoLimit;
  const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
  const bool unified = controllers == ",,";
  if (!unified && controllers.find(",memory,") == std::string::npos) return kNoLimit;
  const Hierarchy& names = unified ? kVersion2 : kVersion1;
  const std::string path = line.substr(second + 1);
  return left_up_from(root + names.folder, path == "/" ? "" : path, names);
}

}  // namespace

std::uint64_t memory_left(const std::string& root) {
  constexpr std::uint64_t kNothing = kNoLimit >> 10;  // KiB
  std::uint64_t least = kNoLimit;
  const std::uint64_t available = field(root + "/proc/meminfo", "MemAvailable:", kNothing);
  if (available != kNothing) least = available << 10;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) least = std::min(least, left_by(root, line));
  return least;
}

}  // namespace nccl_slab::device
