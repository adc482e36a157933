#include "device/numa.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

namespace nccl_slab::device {
namespace {

constexpr int kMostNodes = 1024;         // as many as Linux may have
constexpr unsigned long kPreferred = 1;  // MPOL_PREFERRED of <linux/mempolicy.h>
constexpr int kWordBits = sizeof(unsigned long) * CHAR_BIT;

}  // namespace

bool prefer_node(void* address, std::size_t bytes, int node) {
  if (node < 0 || node >= kMostNodes) return false;
  unsigned long nodes[kMostNodes / kWordBits] = {};
  nodes[node / kWordBits] = 1ul << (node % kWordBits);
  return ::syscall(SYS_mbind, address, bytes, kPreferred, nodes, kMostNodes, 0) == 0;
}

}  // namespace nccl_slab::device
