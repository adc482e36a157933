#include "topology/topology_file.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/owned_fd.h"
#include "topology/nccl_xml.h"
#include "topology/nvidia_smi_matrix.h"

namespace nccl_slab::topology {
namespace {

constexpr std::size_t kLargest = std::size_t{4} << 20;  // a topology of 8 GPUs is 10 kB

Status failed(const std::string& path, const std::string& why) {
  return Status::error("cannot read " + path + ": " + why);
}

// A pipe may be given instead of a file; its writer gets a while, not for ever.
bool has_data_soon(int fd) {
  pollfd wanted{fd, POLLIN, 0};
  return ::poll(&wanted, 1, 5000) > 0;
}

}  // namespace

Status read_text_file(const std::string& path, std::string* text) {
  const OwnedFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return failed(path, std::strerror(errno));
  std::string content;
  char block[16384];
  while (content.size() <= kLargest) {
    const ssize_t got = ::read(file.get(), block, sizeof block);
    if (got < 0 && (errno == EINTR || (errno == EAGAIN && has_data_soon(file.get())))) continue;
    if (got < 0) return failed(path, std::strerror(errno));
    if (got == 0) {
      *text = std::move(content);
      return Status::ok();
    }
    content.append(block, static_cast<std::size_t>(got));
  }
  return failed(path, "it is larger than 4 MiB");
}

Status parse_topology(std::string_view text, Machine* machine) {
  if (!looks_like_nccl_xml(text)) return parse_nvidia_smi_matrix(text, machine);
  Status xml = parse_nccl_xml(text, machine);
  if (xml || parse_nvidia_smi_matrix(text, machine)) return Status::ok();  // a matrix may stand in a page
  return xml;
}

}  // namespace nccl_slab::topology
