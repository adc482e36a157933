// Exports: groups. They belong to the calling thread.
#include "loopback/group.h"
#include "loopback/nccl_api.h"

using namespace nccl_slab::loopback;

namespace {

// ncclSimInfo_t as of 2.22; it may grow at its end.
struct SimulationInfo {
  size_t size;
  unsigned magic;
  unsigned version;
  float estimated_time;
};

constexpr unsigned kSimulationMagic = 0x74685283;

ncclResult_t simulate(SimulationInfo* info) {
  return Group::current().end_without_work([info] {
    if (info != nullptr && (info->magic != kSimulationMagic || info->size < sizeof(SimulationInfo)))
      return fail(ncclInvalidArgument, "ncclSimInfo_t was not initialized");
    if (info != nullptr) info->estimated_time = 0;
    return ncclSuccess;
  });
}

}  // namespace

NCCL_API(ncclResult_t, ncclGroupStart) {
  Group::current().start();
  return ncclSuccess;
}

NCCL_API(ncclResult_t, ncclGroupEnd) {
  return shielded([] { return Group::current().end(); });
}

NCCL_API(ncclResult_t, ncclGroupSimulateEnd, SimulationInfo* info) {
  return shielded([&] { return simulate(info); });
}
