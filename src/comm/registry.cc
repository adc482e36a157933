#include "comm/registry.h"

#include <shared_mutex>
#include <unordered_map>

#include "comm/communicator.h"

namespace nccl_slab::comm {
namespace {

struct Registry {
  std::shared_mutex mutex;
  std::unordered_map<ncclComm_t, std::shared_ptr<Communicator>> communicators;
};

Registry& registry() {
  static auto* instance = new Registry;  // never destroyed: programs call NCCL from static destructors
  return *instance;
}

}  // namespace

std::shared_ptr<Communicator> find_communicator(ncclComm_t real) {
  std::shared_lock lock(registry().mutex);
  const auto found = registry().communicators.find(real);
  return found == registry().communicators.end() ? nullptr : found->second;
}

void register_communicator(ncclComm_t real, std::shared_ptr<Communicator> communicator) {
  std::unique_lock lock(registry().mutex);
  registry().communicators[real] = std::move(communicator);
}

std::shared_ptr<Communicator> forget_communicator(ncclComm_t real) {
  std::unique_lock lock(registry().mutex);
  const auto found = registry().communicators.find(real);
  if (found == registry().communicators.end()) return nullptr;
  std::shared_ptr<Communicator> communicator = std::move(found->second);
  registry().communicators.erase(found);
  return communicator;
}

std::vector<std::shared_ptr<Communicator>> all_communicators() {
  std::shared_lock lock(registry().mutex);
  std::vector<std::shared_ptr<Communicator>> all;
  for (const auto& [real, communicator] : registry().communicators) all.push_back(communicator);
  return all;
}

}  // namespace nccl_slab::comm
