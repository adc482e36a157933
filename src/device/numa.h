// NUMA: where memory of the host comes to lie. By system call, so that nothing but glibc is needed.
// Thread-safe.
#pragma once

#include <cstddef>

namespace nccl_slab::device {

// Pages of this mapping that do not exist yet will be taken from the node, as long as it has any. False if
// the system does not allow it (some containers) or has no such node; the pages then come from anywhere.
// REQUIRES: whole pages.
bool prefer_node(void* address, std::size_t bytes, int node);

}  // namespace nccl_slab::device
