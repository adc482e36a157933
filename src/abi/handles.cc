#include "abi/handles.h"

#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace nccl_slab::abi {
namespace {

// Never destroyed: other threads may still call while the process exits.
struct Table {
  std::shared_mutex mutex;
  std::unordered_map<ncclComm_t, std::shared_ptr<Handle>> handles;
};

Table& table() {
  static auto* instance = new Table();
  return *instance;
}

}  // namespace

std::shared_ptr<Handle> find_handle(ncclComm_t comm) {
  const std::shared_lock lock(table().mutex);
  const auto found = table().handles.find(comm);
  return found == table().handles.end() ? nullptr : found->second;
}

void keep_handle(ncclComm_t comm, std::shared_ptr<Handle> handle) {
  const std::unique_lock lock(table().mutex);
  table().handles.insert_or_assign(comm, std::move(handle));
}

std::vector<ncclComm_t> polled_communicators() {
  std::vector<ncclComm_t> polled;
  const std::shared_lock lock(table().mutex);
  for (const auto& [comm, handle] : table().handles)
    if (!handle->blocking) polled.push_back(comm);
  return polled;
}

std::shared_ptr<Handle> forget_handle(ncclComm_t comm) {
  const std::unique_lock lock(table().mutex);
  const auto found = table().handles.find(comm);
  if (found == table().handles.end()) return nullptr;
  std::shared_ptr<Handle> handle = std::move(found->second);
  table().handles.erase(found);
  return handle;
}

}  // namespace nccl_slab::abi
