// Creators that make a communicator from another one. All ranks of the parent make such calls in the same
// order, so the count of them, on the parent, is part of the child's name. What ncclCommGrow makes has none, since
// newcomers know no parent, and neither have the children of such a communicator: NCCL serves them.
#include <algorithm>
#include <span>

#include "abi/birth.h"
#include "abi/export.h"

namespace nccl_slab::abi {
namespace {

Birth child_of(ncclComm_t parent, const Library* library, ncclComm_t* result) {
  Birth birth;
  birth.library = library;
  birth.result = result;
  birth.parent = parent;
  return birth;
}

std::unique_ptr<comm::Creation> enter(comm::Communicator& parent, const char* kind, std::uint64_t counter,
                                      std::span<const int> detail) {
  return comm::Creation::enter(comm::MeetingName::from_parent(parent.name(), parent.rank(), parent.nranks(),
                                                              kind, counter, std::as_bytes(detail)));
}

// The parent that names its children, if it does.
comm::Communicator* naming(const std::shared_ptr<Handle>& parent) {
  if (parent == nullptr || parent->communicator == nullptr || !parent->communicator->named()) return nullptr;
  return parent->communicator.get();
}

// A call that NCCL refuses on this rank counts nowhere: neither did it reach the other ranks.
void take_back(const std::shared_ptr<Handle>& parent, const char* kind, ncclResult_t answer) {
  if (answer != ncclInvalidArgument && answer != ncclInvalidUsage) return;
  do_our_part([&] {
    if (comm::Communicator* const named = naming(parent)) named->take_back_child(kind);
  });
}

// The counter moves for ranks without a colour too.
std::vector<Birth> enter_split(const std::shared_ptr<Handle>& parent, Birth birth, int color) {
  std::vector<Birth> births;
  if (birth.result == nullptr) return births;
  do_our_part([&] {
    if (comm::Communicator* const named = naming(parent)) {
      const std::uint64_t counter = named->next_child("split");
      if (color >= 0) birth.creation = enter(*named, "split", counter, std::span(&color, 1));
    }
    if (color >= 0) births.push_back(std::move(birth));
  });
  return births;
}

std::vector<Birth> enter_shrink(const std::shared_ptr<Handle>& parent, Birth birth, const int* excluded,
                                int count) {
  std::vector<Birth> births;
  if (birth.result == nullptr || excluded == nullptr || count <= 0) return births;
  do_our_part([&] {
    std::vector<int> list(excluded, excluded + count);
    std::sort(list.begin(), list.end());
    if (comm::Communicator* const named = naming(parent))
      birth.creation = enter(*named, "shrink", named->next_child("shrink"), list);
    births.push_back(std::move(birth));
  });
  return births;
}

// NCCL sets the variable at once on all ranks, also on those that have the old communicator.
std::vector<Birth> enter_grow(const std::shared_ptr<Handle>& parent, ncclComm_t comm, Birth birth) {
  std::vector<Birth> births;
  if (birth.result == nullptr) return births;
  do_our_part([&] {
    birth.before = *birth.result;
    if (parent != nullptr) birth.grown_from = comm;
    births.push_back(std::move(birth));
  });
  return births;
}

// Our kernels must have left before NCCL waits for the streams of the parent.
void abort_parent(const std::shared_ptr<Handle>& parent) {
  if (parent == nullptr || parent->communicator == nullptr) return;
  do_our_part([&] { parent->communicator->abort(); });
}

}  // namespace
}  // namespace nccl_slab::abi

NCCL_SLAB_EXPORT(ncclCommSplit)
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* newcomm, ncclConfig_t* config) {
  using namespace nccl_slab::abi;
  const Origin origin = NCCL_SLAB_ORIGIN();
  if (origin.straight) return origin.real().ncclCommSplit(comm, color, key, newcomm, config);
  const auto parent = find_handle(comm);
  const Library* library = parent ? parent->library : origin.library;
  auto births = enter_split(parent, child_of(comm, library, newcomm), color);
  const ncclResult_t answer = call_real(library->functions.ncclCommSplit, comm, color, key, newcomm, config);
  if (newcomm != nullptr) take_back(parent, "split", answer);
  return finish_creator(std::move(births), config, answer);
}

NCCL_SLAB_EXPORT(ncclCommShrink)
ncclResult_t ncclCommShrink(ncclComm_t comm, int* excluded, int excluded_count, ncclComm_t* newcomm,
                            ncclConfig_t* config, int flags) {
  using namespace nccl_slab::abi;
  const Origin origin = NCCL_SLAB_ORIGIN();
  if (origin.straight)
    return origin.real().ncclCommShrink(comm, excluded, excluded_count, newcomm, config, flags);
  const auto parent = find_handle(comm);
  const Library* library = parent ? parent->library : origin.library;
  auto births = enter_shrink(parent, child_of(comm, library, newcomm), excluded, excluded_count);
  const bool counted = !births.empty();
  if (flags & kNcclShrinkAbort) abort_parent(parent);
  const ncclResult_t answer =
      call_real(library->functions.ncclCommShrink, comm, excluded, excluded_count, newcomm, config, flags);
  if (counted) take_back(parent, "shrink", answer);
  return finish_creator(std::move(births), config, answer);
}

NCCL_SLAB_EXPORT(ncclCommGrow)
ncclResult_t ncclCommGrow(ncclComm_t comm, int nranks, const ncclUniqueId* id, int rank, ncclComm_t* newcomm,
                          ncclConfig_t* config) {
  using namespace nccl_slab::abi;
  const Origin origin = NCCL_SLAB_ORIGIN();
  if (origin.straight) return origin.real().ncclCommGrow(comm, nranks, id, rank, newcomm, config);
  const auto parent = find_handle(comm);
  const Library* library = parent ? parent->library : origin.library;
  auto births = enter_grow(parent, comm, child_of(nullptr, library, newcomm));
  const ncclResult_t answer =
      call_real(library->functions.ncclCommGrow, comm, nranks, id, rank, newcomm, config);
  return finish_creator(std::move(births), config, answer);
}
