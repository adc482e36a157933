#include "device/host_mapping.h"

#include <cuda_runtime_api.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "device/cuda_status.h"

namespace nccl_slab::device {
namespace {

struct Registry {
  std::mutex mutex;
  std::map<HostMapping::Key, std::weak_ptr<HostMapping>> mappings;
};

Registry& registry() {
  static auto* instance = new Registry;  // never destroyed: set-up threads may outlive static objects
  return *instance;
}

std::shared_ptr<HostMapping> mapping_of(const HostMapping::Key& key) {
  const std::lock_guard lock(registry().mutex);
  std::weak_ptr<HostMapping>& known = registry().mappings[key];
  std::shared_ptr<HostMapping> mapping = known.lock();
  if (mapping == nullptr) known = mapping = std::make_shared<HostMapping>(key);
  return mapping;
}

// A new mapping may have taken the place of one that ends.
void forget(const HostMapping::Key& key) {
  const std::lock_guard lock(registry().mutex);
  const auto found = registry().mappings.find(key);
  if (found != registry().mappings.end() && found->second.expired()) registry().mappings.erase(found);
}

Status map_and_register(int descriptor, std::size_t bytes, void** address) {
  void* const mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (mapped == MAP_FAILED) return Status::error(std::string("mmap of host memory: ") + std::strerror(errno));
  const unsigned flags = cudaHostRegisterMapped | cudaHostRegisterPortable;
  const Status status = cuda_status(cudaHostRegister(mapped, bytes, flags), "cudaHostRegister");
  if (status)
    *address = mapped;
  else
    ::munmap(mapped, bytes);
  return status;
}

}  // namespace

// Without the registry's lock: CUDA waits for kernels here, and those perhaps for a rank that is about to
// map.
HostMapping::~HostMapping() {
  forget(key_);
  if (address_ == nullptr) return;
  (void)cudaHostUnregister(address_);
  ::munmap(address_, key_.bytes);
}

Status HostMapping::of(int descriptor, std::size_t bytes, std::shared_ptr<HostMapping>* mapping) {
  struct stat file {};
  if (::fstat(descriptor, &file) != 0)
    return Status::error(std::string("fstat of host memory: ") + std::strerror(errno));
  std::shared_ptr<HostMapping> found = mapping_of({file.st_dev, file.st_ino, bytes});
  const std::lock_guard lock(found->mutex_);
  if (found->address_ == nullptr)
    if (const Status status = map_and_register(descriptor, bytes, &found->address_); !status) return status;
  *mapping = found;
  return Status::ok();
}

std::size_t host_mappings() {
  const std::lock_guard lock(registry().mutex);
  return registry().mappings.size();
}

}  // namespace nccl_slab::device
