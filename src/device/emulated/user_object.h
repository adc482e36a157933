// UserObject: a caller's object that graphs keep alive. Its destructor runs on a worker, some time after the
// last reference has gone, as CUDA's does. Counts are atomic; any thread may use it.
#pragma once

#include <atomic>
#include <map>
#include <memory>

#include <driver_types.h>

#include "device/emulated/workers.h"

namespace nccl_slab::emulated {

struct UserObject {
  cudaUserObject_t handle = nullptr;
  void* pointer = nullptr;
  cudaHostFn_t destroy = nullptr;
  Workers* workers = nullptr;
  std::atomic<unsigned> references{0};

  void retain(unsigned count) { references += count; }
  void release(unsigned count);
};

// The references that one graph, executable graph or launch holds; given back with it.
class UserReferences {
 public:
  UserReferences() = default;
  UserReferences(const UserReferences& other);
  UserReferences& operator=(const UserReferences&) = delete;
  ~UserReferences();

  // Takes over `count` references that the caller holds.
  void adopt(std::shared_ptr<UserObject> object, unsigned count);
  // Gives back `count`; false when it holds fewer.
  bool release(const std::shared_ptr<UserObject>& object, unsigned count);

 private:
  std::map<std::shared_ptr<UserObject>, unsigned> held_;
};

}  // namespace nccl_slab::emulated
