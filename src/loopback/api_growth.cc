// Exports: communicators that get more ranks. The existing ranks name the new one by a count on the old one;
// the id that one of them hands to the newcomers holds that name. Thread safety: as NCCL's.
#include <algorithm>
#include <cstring>
#include <string>

#include "loopback/config.h"
#include "loopback/group.h"
#include "loopback/nccl_api.h"

using namespace nccl_slab::loopback;

namespace {

ncclResult_t unique_id_of(ncclComm_t comm, ncclUniqueId* id) {
  ncclResult_t result = check_handle(comm, "ncclCommGetUniqueId");
  if (result == ncclSuccess) result = ensure_ready(comm);
  if (result != ncclSuccess) return result;
  if (id == nullptr) return fail(ncclInvalidArgument, "ncclCommGetUniqueId: NULL");
  const std::string name = name_of_grown(comm);
  *id = {};
  std::memcpy(id->internal, name.data(), std::min(name.size(), sizeof id->internal - 1));
  return ncclSuccess;
}

struct Growth {
  ncclComm_t parent;
  int ranks;
  const ncclUniqueId* id;
  int rank;
  ncclComm_t* handle;
};

std::string name_in(const ncclUniqueId* id) {
  return id == nullptr ? "" : std::string(id->internal, ::strnlen(id->internal, sizeof id->internal));
}

ncclResult_t check_newcomer(const Growth& growth) {
  if (growth.id == nullptr || growth.rank < 0 || growth.rank >= growth.ranks)
    return fail(ncclInvalidArgument, "ncclCommGrow: rank %d of %d", growth.rank, growth.ranks);
  return ncclSuccess;
}

ncclResult_t check_member(const Growth& growth) {
  ncclResult_t result = check_handle(growth.parent, "ncclCommGrow");
  if (result == ncclSuccess) result = ensure_ready(growth.parent);
  if (result == ncclSuccess && growth.rank != -1)
    result = fail(ncclInvalidArgument, "ncclCommGrow: rank %d of an existing one", growth.rank);
  return result;
}

ncclResult_t check(const Growth& growth) {
  const int least = growth.parent != nullptr ? growth.parent->ranks + 1 : 1;
  if (growth.ranks < least) return fail(ncclInvalidArgument, "ncclCommGrow: to %d ranks", growth.ranks);
  return growth.parent != nullptr ? check_member(growth) : check_newcomer(growth);
}

std::unique_ptr<Creation> make(const Growth& growth, bool blocking) {
  if (growth.parent != nullptr) return make_grown(growth.parent, growth.ranks, growth.handle, blocking);
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess) device = 0;
  return make_init(growth.handle, name_in(growth.id), growth.rank, growth.ranks, device, blocking);
}

ncclResult_t grow(const Growth& growth, const ncclConfig_t* config) {
  Group& group = Group::current();
  if (growth.handle == nullptr) return fail(ncclInvalidArgument, "ncclCommGrow: newcomm is NULL");
  const bool inherited = growth.parent == nullptr || growth.parent->blocking;
  bool blocking = true;
  ncclResult_t result = check(growth);
  if (result == ncclSuccess) result = read_config(config, inherited, &blocking);
  if (result != ncclSuccess) return group.note(result);
  group.start();
  result = group.note(group.admit(inherited));
  if (result == ncclSuccess) group.work().add(make(growth, blocking));
  const ncclResult_t end = group.end();
  return result != ncclSuccess ? result : end;
}

}  // namespace

NCCL_API(ncclResult_t, ncclCommGetUniqueId, ncclComm_t comm, ncclUniqueId* id) {
  return shielded([&] { return unique_id_of(comm, id); });
}

NCCL_API(ncclResult_t, ncclCommGrow, ncclComm_t comm, int nranks, const ncclUniqueId* id, int rank,
         ncclComm_t* newcomm, ncclConfig_t* config) {
  return shielded([&] { return grow({comm, nranks, id, rank, newcomm}, config); });
}
