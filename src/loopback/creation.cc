// See creation.h.
#include "loopback/creation.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "loopback/device_guard.h"
#include "loopback/last_error.h"

namespace nccl_slab::loopback {
namespace {

constexpr int kNoColour = -1;

// What tells two GPUs apart, as NCCL sees it: the host, which NCCL_HOSTID may rename, and the PCI address.
struct Placement {
  char host[32];
  char gpu[32];
};
static_assert(sizeof(Placement) <= Clique::kRecordBytes);

Placement placement_of(int device) {
  Placement placement{};
  const char* host = std::getenv("NCCL_HOSTID");
  std::snprintf(placement.host, sizeof placement.host, "%.31s", host != nullptr ? host : "");
  if (cudaDeviceGetPCIBusId(placement.gpu, sizeof placement.gpu, device) != cudaSuccess)
    std::snprintf(placement.gpu, sizeof placement.gpu, "device %d", device);
  return placement;
}

bool may_share_gpus() {
  const char* text = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  return text != nullptr && std::strcmp(text, "1") == 0;
}

ncclResult_t check_placements(const std::vector<Placement>& all) {
  for (size_t i = 0; i < all.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (std::memcmp(&all[i], &all[j], sizeof(Placement)) == 0)
        return fail(ncclInvalidUsage, "ranks %zu and %zu share GPU %s", j, i, all[i].gpu);
  return ncclSuccess;
}

bool checks_pointers() {
  const char* text = std::getenv("NCCL_CHECK_POINTERS");
  return text != nullptr && std::strcmp(text, "0") != 0;
}

ncclResult_t meet(ncclComm* child, const std::string& name, int rank, int ranks, int device) {
  child->clique = std::make_unique<Clique>();
  ncclResult_t result = child->clique->join(name, rank, ranks, child->abort);
  if (result != ncclSuccess) return result;
  const Placement mine = placement_of(device);
  std::vector<Placement> all(static_cast<size_t>(ranks));
  result = child->clique->all_gather(&mine, sizeof mine, all.data(), child->abort);
  if (result != ncclSuccess || may_share_gpus()) return result;
  return check_placements(all);
}

// Fills the handle: the part that init, split and shrink have in common.
ncclResult_t fill(ncclComm* child, const std::string& name, int rank, int ranks, int device) {
  const DeviceGuard guard(device);
  const ncclResult_t result = meet(child, name, rank, ranks, device);
  if (result != ncclSuccess) return result;
  cudaError_t error = child->memory.open(child->clique->memory(), child->clique->memory_bytes());
  if (error == cudaSuccess) error = child->order.create();
  if (error != cudaSuccess) return fail(ncclUnhandledCudaError, "creation: %s", cudaGetErrorString(error));
  child->name = name;
  child->rank = rank;
  child->ranks = ranks;
  child->device = device;
  child->checks_pointers = checks_pointers();
  return ncclSuccess;
}

std::string child_name(const ncclComm* parent, const char* kind, int counter, const std::string& members) {
  const std::string text = parent->name + " " + kind + " " + std::to_string(counter) + " " + members;
  return clique_name(text.data(), text.size());
}

struct Choice {
  int colour;
  int key;
};

// The parent's ranks that chose the same colour, by key, then by rank.
std::vector<int> members_of(const std::vector<Choice>& choices, int colour) {
  std::vector<int> members;
  for (size_t rank = 0; rank < choices.size(); ++rank)
    if (choices[rank].colour == colour) members.push_back(static_cast<int>(rank));
  std::stable_sort(members.begin(), members.end(), [&](int a, int b) {
    return choices[static_cast<size_t>(a)].key < choices[static_cast<size_t>(b)].key;
  });
  return members;
}

ncclResult_t fill_member(Creation& creation, const std::string& name, const std::vector<int>& members) {
  const auto mine = std::find(members.begin(), members.end(), creation.parent->rank);
  return fill(creation.child.get(), name, static_cast<int>(mine - members.begin()),
              static_cast<int>(members.size()), creation.parent->device);
}

ncclResult_t run_split(Creation& creation, Choice choice, int counter) {
  ncclComm* parent = creation.parent;
  std::vector<Choice> choices(static_cast<size_t>(parent->ranks));
  const ncclResult_t result =
      parent->clique->all_gather(&choice, sizeof choice, choices.data(), parent->abort);
  if (result != ncclSuccess) return result;
  if (choice.colour == kNoColour) {
    creation.child.reset();
    return ncclSuccess;
  }
  return fill_member(creation, child_name(parent, "split", counter, std::to_string(choice.colour)),
                     members_of(choices, choice.colour));
}

ncclResult_t run_shrink(Creation& creation, const std::vector<int>& excluded, int counter) {
  std::string text;
  std::vector<int> members;
  for (int rank : excluded) text += std::to_string(rank) + ",";
  for (int rank = 0; rank < creation.parent->ranks; ++rank)
    if (!std::binary_search(excluded.begin(), excluded.end(), rank)) members.push_back(rank);
  return fill_member(creation, child_name(creation.parent, "shrink", counter, text), members);
}

std::unique_ptr<Creation> make_child(ncclComm* parent, ncclComm** handle, bool blocking) {
  auto creation = std::make_unique<Creation>();
  creation->child = std::make_unique<ncclComm>();
  creation->child->blocking = blocking;
  creation->parent = parent;
  creation->handle = handle;
  *handle = nullptr;
  return creation;
}

}  // namespace

// The program may look at its variable while this thread sets it: an atomic store, as NCCL's is.
void Creation::conclude(ncclResult_t result) {
  if (parent != nullptr) {
    if (result == ncclSuccess) std::atomic_ref(*handle).store(child.release(), std::memory_order_release);
  } else if (result == ncclSuccess || !child->blocking) {
    static_cast<void>(child.release());  // the program has the handle
  } else {
    *handle = nullptr;
  }
}

void Creation::withdraw() {
  *handle = nullptr;
  child.reset();
}

std::unique_ptr<Creation> make_init(ncclComm** handle, const std::string& name, int rank, int ranks,
                                    int device, bool blocking) {
  auto creation = make_child(nullptr, handle, blocking);
  *handle = creation->child.get();
  creation->run = [=](Creation& mine) { return fill(mine.child.get(), name, rank, ranks, device); };
  return creation;
}

std::unique_ptr<Creation> make_split(ncclComm* parent, int colour, int key, ncclComm** handle,
                                     bool blocking) {
  auto creation = make_child(parent, handle, blocking);
  const int counter = parent->splits++;
  creation->run = [=](Creation& mine) { return run_split(mine, {colour, key}, counter); };
  return creation;
}

std::unique_ptr<Creation> make_shrink(ncclComm* parent, std::vector<int> excluded, ncclComm** handle,
                                      bool blocking) {
  auto creation = make_child(parent, handle, blocking);
  const int counter = parent->shrinks++;
  creation->run = [excluded = std::move(excluded), counter](Creation& mine) {
    return run_shrink(mine, excluded, counter);
  };
  return creation;
}

std::string name_of_grown(const ncclComm* parent) {
  return child_name(parent, "grow", parent->grows, "");
}

std::unique_ptr<Creation> make_grown(ncclComm* parent, int ranks, ncclComm** handle, bool blocking) {
  auto creation = make_child(parent, handle, blocking);
  const std::string name = name_of_grown(parent);
  ++parent->grows;
  creation->run = [=](Creation& mine) {
    return fill(mine.child.get(), name, mine.parent->rank, ranks, mine.parent->device);
  };
  return creation;
}

}  // namespace nccl_slab::loopback
