#include "tune/table_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/log.h"
#include "base/owned_fd.h"
#include "base/settings.h"
#include "topology/hash.h"
#include "topology/topology_file.h"

namespace nccl_slab::tune {
namespace {

namespace fs = std::filesystem;

bool exists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

ProcessTable read_process_table() {
  ProcessTable table;
  const std::string path = table_path();
  if (path.empty() || (settings().tune_file.empty() && !exists(path))) return table;
  std::string text;
  Status status = topology::read_text_file(path, &text);
  if (status) status = parse_table(text, &table.entries);
  if (status) {
    table.hash = table.entries.empty() ? 0 : topology::fnv1a(text);
  } else {
    table.entries.clear();
    NCCL_SLAB_WARN("the tuning table %s is not used: %s", path.c_str(), status.what().c_str());
  }
  return table;
}

Status failed(const std::string& what) {
  return Status::error("cannot write " + what + ": " + std::strerror(errno));
}

Status write_all(const OwnedFd& file, const std::string& path, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(file.get(), text.data() + done, text.size() - done);
    if (count < 0 && errno != EINTR) return failed(path);
    if (count > 0) done += static_cast<std::size_t>(count);
  }
  return ::fsync(file.get()) == 0 ? Status::ok() : failed(path);
}

}  // namespace

std::string table_path() {
  if (!settings().tune_file.empty()) return settings().tune_file;
  const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  if (cache != nullptr && cache[0] == '/') return std::string(cache) + "/nccl-slab/tuning";
  return home != nullptr && home[0] == '/' ? std::string(home) + "/.cache/nccl-slab/tuning" : "";
}

const ProcessTable& process_table() {
  static const auto* table = new ProcessTable(read_process_table());
  return *table;
}

Status read_table(const std::string& path, std::vector<TableEntry>* entries) {
  entries->clear();
  if (!exists(path)) return Status::ok();
  std::string text;
  if (Status status = topology::read_text_file(path, &text); !status) return status;
  const Status status = parse_table(text, entries);
  return status ? status : Status::error(path + ": " + status.what());
}

Status write_table(const std::string& path, const std::vector<TableEntry>& entries) {
  std::error_code error;
  if (fs::path(path).has_parent_path()) fs::create_directories(fs::path(path).parent_path(), error);
  std::string part = path + ".XXXXXX";
  const OwnedFd file(::mkostemp(part.data(), O_CLOEXEC));
  if (!file) return failed(part);
  Status status = write_all(file, part, to_text(entries));
  if (status && (::fchmod(file.get(), 0644) != 0 || ::rename(part.c_str(), path.c_str()) != 0))
    status = failed(path);
  if (!status) (void)::unlink(part.c_str());
  return status;
}

}  // namespace nccl_slab::tune
