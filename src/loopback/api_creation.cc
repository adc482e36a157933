// Exports that create communicators. Any thread may call them.
#include <sys/random.h>

#include <algorithm>
#include <cstring>

#include "loopback/config.h"
#include "loopback/device_guard.h"
#include "loopback/group.h"
#include "loopback/nccl_api.h"

using namespace nccl_slab::loopback;

namespace {

constexpr int kShrinkAbort = 1;

ncclResult_t check_shape(ncclComm_t* handle, int ranks, int rank) {
  if (handle == nullptr) return fail(ncclInvalidArgument, "newcomm is NULL");
  if (ranks < 1 || rank < 0 || rank >= ranks) return fail(ncclInvalidArgument, "rank %d of %d", rank, ranks);
  return ncclSuccess;
}

// Puts a creation into the current group. Errors of the group's work come back from its end.
template <class Make>
ncclResult_t queue(bool blocking, Make make) {
  Group& group = Group::current();
  group.start();
  const ncclResult_t result = group.note(group.admit(blocking));
  if (result == ncclSuccess) group.work().add(make());
  const ncclResult_t end = group.end();
  return result != ncclSuccess ? result : end;
}

ncclResult_t init(ncclComm_t* handle, int ranks, const ncclUniqueId* ids, int id_count, int rank, int device,
                  const ncclConfig_t* config) {
  Group& group = Group::current();
  if (ids == nullptr || id_count < 1 || id_count > ranks)
    return group.note(fail(ncclInvalidArgument, "no unique id"));
  bool blocking = true;
  ncclResult_t result = check_shape(handle, ranks, rank);
  if (result == ncclSuccess) result = read_config(config, true, &blocking);
  if (result != ncclSuccess) return group.note(result);
  const std::string name = clique_name(ids, sizeof *ids * static_cast<size_t>(id_count));
  result = queue(blocking, [&] { return make_init(handle, name, rank, ranks, device, blocking); });
  return *handle == nullptr ? result : answer(blocking, *handle, result);
}

ncclResult_t init_here(ncclComm_t* handle, int ranks, const ncclUniqueId* ids, int id_count, int rank,
                       const ncclConfig_t* config) {
  return shielded([&] {
    int device = 0;
    if (cudaGetDevice(&device) != cudaSuccess)
      return Group::current().note(fail(ncclUnhandledCudaError, "no device"));
    return init(handle, ranks, ids, id_count, rank, device, config);
  });
}

ncclResult_t check_devices(int count, const int* devices) {
  int present = 0;
  if (cudaGetDeviceCount(&present) != cudaSuccess) return fail(ncclUnhandledCudaError, "no devices");
  for (int i = 0; i < count; ++i) {
    const int device = devices != nullptr ? devices[i] : i;
    if (device < 0 || device >= present) return fail(ncclUnhandledCudaError, "there is no device %d", device);
    if (devices != nullptr && std::find(devices, devices + i, device) != devices + i)
      return fail(ncclInvalidUsage, "device %d is listed twice", device);
  }
  return ncclSuccess;
}

ncclResult_t init_all(ncclComm_t* handles, int count, const int* devices) {
  ncclUniqueId id;
  ncclResult_t result = ncclGetUniqueId(&id);
  if (result != ncclSuccess) return result;
  Group::current().start();
  for (int i = 0; i < count && result == ncclSuccess; ++i)
    result = init(&handles[i], count, &id, 1, i, devices != nullptr ? devices[i] : i, nullptr);
  const ncclResult_t end = Group::current().end();
  return result == ncclSuccess || result == ncclInProgress ? end : result;
}

// A parent that may have children: alive, not busy with another call.
ncclResult_t check_parent(ncclComm_t parent, ncclComm_t* handle, const char* call) {
  const ncclResult_t result = check_handle(parent, call);
  if (result != ncclSuccess) return result;
  if (handle == nullptr) return fail(ncclInvalidArgument, "%s: newcomm is NULL", call);
  return ensure_ready(parent);
}

ncclResult_t split(ncclComm_t parent, int colour, int key, ncclComm_t* handle, const ncclConfig_t* config) {
  Group& group = Group::current();
  bool blocking = true;
  ncclResult_t result = check_parent(parent, handle, "ncclCommSplit");
  if (result == ncclSuccess && colour < -1)
    result = fail(ncclInvalidArgument, "ncclCommSplit: color %d", colour);
  if (result == ncclSuccess) result = read_config(config, parent->blocking, &blocking);
  if (result != ncclSuccess) return group.note(result);
  result = queue(parent->blocking, [&] { return make_split(parent, colour, key, handle, blocking); });
  return answer(parent->blocking, parent, result);
}

ncclResult_t check_excluded(ncclComm_t parent, const int* list, int count) {
  if (list == nullptr || count < 1) return fail(ncclInvalidArgument, "ncclCommShrink: no rank to exclude");
  if (std::find(list, list + count, parent->rank) != list + count)
    return fail(ncclInvalidArgument, "ncclCommShrink: rank %d excludes itself", parent->rank);
  return ncclSuccess;
}

// What the parent does is ended first; its ring is then out of step, so it counts as revoked.
ncclResult_t quiet_parent(ncclComm_t parent) {
  parent->leave.store(true);
  parent->revoked.store(true);
  return wait_until_idle(parent) ? ncclSuccess : fail(ncclSystemError, "ncclCommShrink: a stream is stuck");
}

ncclResult_t shrink(ncclComm_t parent, const int* list, int count, ncclComm_t* handle,
                    const ncclConfig_t* config, int flags) {
  Group& group = Group::current();
  bool blocking = true;
  ncclResult_t result = check_parent(parent, handle, "ncclCommShrink");
  if (result == ncclSuccess) result = check_excluded(parent, list, count);
  if (result == ncclSuccess) result = read_config(config, parent->blocking, &blocking);
  if (result == ncclSuccess && (flags & kShrinkAbort) != 0) result = quiet_parent(parent);
  if (result != ncclSuccess) return group.note(result);
  std::vector<int> excluded(list, list + count);
  std::sort(excluded.begin(), excluded.end());
  result = queue(parent->blocking, [&] { return make_shrink(parent, excluded, handle, blocking); });
  return answer(parent->blocking, parent, result);
}

}  // namespace

NCCL_API(ncclResult_t, ncclGetUniqueId, ncclUniqueId* id) {
  if (id == nullptr) return fail(ncclInvalidArgument, "ncclGetUniqueId: NULL");
  if (::getrandom(id->internal, sizeof id->internal, 0) != static_cast<ssize_t>(sizeof id->internal))
    return fail(ncclSystemError, "no random numbers");
  return ncclSuccess;
}

NCCL_API(ncclResult_t, ncclCommInitRank, ncclComm_t* newcomm, int nranks, ncclUniqueId id, int rank) {
  return init_here(newcomm, nranks, &id, 1, rank, nullptr);
}

NCCL_API(ncclResult_t, ncclCommInitRankConfig, ncclComm_t* newcomm, int nranks, ncclUniqueId id, int rank,
         ncclConfig_t* config) {
  return init_here(newcomm, nranks, &id, 1, rank, config);
}

NCCL_API(ncclResult_t, ncclCommInitRankScalable, ncclComm_t* newcomm, int nranks, int rank, int id_count,
         ncclUniqueId* ids, ncclConfig_t* config) {
  return init_here(newcomm, nranks, ids, id_count, rank, config);
}

NCCL_API(ncclResult_t, ncclCommInitAll, ncclComm_t* comms, int ndev, const int* devlist) {
  return shielded([&] {
    if (comms == nullptr || ndev < 0)
      return Group::current().note(fail(ncclInvalidArgument, "ncclCommInitAll: arguments"));
    const ncclResult_t result = check_devices(ndev, devlist);
    return result == ncclSuccess ? init_all(comms, ndev, devlist) : Group::current().note(result);
  });
}

NCCL_API(ncclResult_t, ncclCommSplit, ncclComm_t comm, int color, int key, ncclComm_t* newcomm,
         ncclConfig_t* config) {
  return shielded([&] { return split(comm, color, key, newcomm, config); });
}

NCCL_API(ncclResult_t, ncclCommShrink, ncclComm_t comm, int* excluded, int count, ncclComm_t* newcomm,
         ncclConfig_t* config, int flags) {
  return shielded([&] { return shrink(comm, excluded, count, newcomm, config, flags); });
}
