// See plan.h.
#include "loopback/plan.h"

#include <cuda_runtime_api.h>

#include <memory>

#include "device/emulated/emulated.h"
#include "loopback/communicator.h"
#include "loopback/point_to_point.h"
#include "loopback/ring_collectives.h"

namespace nccl_slab::loopback {
namespace {

// Stands for the kernel's function; only its address counts.
const char kKernel = 0;

bool run_operations(const Plan& plan) {
  const ncclComm& communicator = *plan.communicator;
  RingCollectives ring(*communicator.clique, communicator.leave);
  PointToPoint transfers(*communicator.clique, communicator.leave);
  for (const Operation& operation : plan.operations) {
    if (operation.is_point_to_point())
      transfers.add(operation);
    else if (!ring.run(operation))
      return false;
  }
  return transfers.run();
}

// Streams order the kernels of a communicator (stream_order.h). `busy` keeps those apart that streams cannot:
// two graphs of one communicator that the user launches at once.
void run_plan(const nccl_slab_emulated_block*, const void* argument) {
  Plan* plan = *static_cast<Plan* const*>(argument);
  ncclComm& communicator = *plan->communicator;
  const bool entered = spin_until(communicator.leave, [&] { return !communicator.busy.exchange(true); });
  if (entered) {
    run_operations(*plan);
    communicator.busy.store(false);
  }
  if (plan->captured) return;
  delete plan;
  communicator.queued.fetch_sub(1);  // the last touch: a destroy that waits may free the communicator now
}

cudaError_t register_kernel() {
  return nccl_slab_emulated_register(&kKernel, "nccl_loopback", run_plan, sizeof(void*));
}

}  // namespace

cudaError_t launch(Plan* plan, cudaStream_t stream) {
  static const cudaError_t registered = register_kernel();
  if (registered != cudaSuccess) return registered;
  if (!plan->captured) plan->communicator->queued.fetch_add(1);
  void* arguments[] = {&plan};
  const cudaError_t error = cudaLaunchKernel(&kKernel, dim3(1), dim3(1), arguments, 0, stream);
  if (error != cudaSuccess && !plan->captured) plan->communicator->queued.fetch_sub(1);
  return error;
}

}  // namespace nccl_slab::loopback
