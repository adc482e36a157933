// Creation: one communicator that is being made by init, split, shrink or grow. The call queues it; it runs
// when the outermost group ends, each on a thread of its own if there are several, because every rank waits
// for the others in it. Thread safety: used by one thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "loopback/communicator.h"

namespace nccl_slab::loopback {

struct Creation {
  std::unique_ptr<ncclComm> child;
  ncclComm* parent = nullptr;  // null for init
  ncclComm** handle =
      nullptr;  // the caller's; init sets it at once, split and shrink when they have succeeded
  std::function<ncclResult_t(Creation&)> run;

  // The communicator that a program polls while this is in progress.
  ncclComm* polled() const { return parent != nullptr ? parent : child.get(); }
  // After run: gives the child to the program, or takes it back. A non-blocking one that init began stays for
  // ncclCommAbort.
  void conclude(ncclResult_t result);
  // Instead of run: the group failed before it began.
  void withdraw();
};

std::unique_ptr<Creation> make_init(ncclComm** handle, const std::string& name, int rank, int ranks,
                                    int device, bool blocking);
std::unique_ptr<Creation> make_split(ncclComm* parent, int colour, int key, ncclComm** handle, bool blocking);
// REQUIRES: `excluded` is sorted, names ranks of the parent, and not the caller's.
std::unique_ptr<Creation> make_shrink(ncclComm* parent, std::vector<int> excluded, ncclComm** handle,
                                      bool blocking);
// What the next grow of `parent` is called among its ranks, and among those that join by its unique id.
std::string name_of_grown(const ncclComm* parent);
// An existing rank keeps its number and device.
std::unique_ptr<Creation> make_grown(ncclComm* parent, int ranks, ncclComm** handle, bool blocking);

}  // namespace nccl_slab::loopback
