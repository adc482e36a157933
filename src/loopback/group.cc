// See group.h.
#include "loopback/group.h"

#include "loopback/last_error.h"

namespace nccl_slab::loopback {
namespace {

// Runs the work on a thread. Until it ends, the state of every communicator in it is InProgress, afterwards
// its result.
ncclResult_t run_behind(const std::shared_ptr<GroupWork>& work) {
  const std::vector<ncclComm*> polled = work->polled();
  for (ncclComm* communicator : polled) communicator->async_result.store(ncclInProgress);
  auto job = std::make_shared<Job>([work, polled] {
    const ncclResult_t result = work->run();
    for (ncclComm* communicator : polled) communicator->async_result.store(result);
  });
  for (ncclComm* communicator : polled) {
    const std::lock_guard lock(communicator->job_mutex);
    communicator->job = job;
  }
  return ncclInProgress;
}

}  // namespace

Group& Group::current() {
  thread_local Group group;
  return group;
}

ncclResult_t Group::note(ncclResult_t result) {
  const bool is_error = result != ncclSuccess && result != ncclInProgress;
  if (is_open() && is_error) error_ = result;
  return result;
}

ncclResult_t Group::admit(bool blocking) {
  if (blocking_.has_value() && *blocking_ != blocking)
    return fail(ncclInvalidArgument, "blocking and non-blocking communicators in one group");
  blocking_ = blocking;
  return ncclSuccess;
}

ncclResult_t Group::end() {
  if (depth_ == 0) return fail(ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart");
  return --depth_ > 0 ? ncclSuccess : end_outermost(false);
}

ncclResult_t Group::end_without_work(const std::function<ncclResult_t()>& judge) {
  if (depth_ == 0) return fail(ncclInvalidUsage, "ncclGroupSimulateEnd without ncclGroupStart");
  if (--depth_ > 0) return ncclSuccess;
  const ncclResult_t result = end_outermost(true);
  return result == ncclSuccess ? judge() : result;
}

// The state is cleared first: the work may meet this thread's group again through NCCL's own exports.
ncclResult_t Group::end_outermost(bool simulated) {
  std::shared_ptr<GroupWork> work = std::move(work_);
  const ncclResult_t error = error_;
  const bool blocking = blocking_.value_or(true);
  reset();
  if (error != ncclSuccess || simulated) {
    work->drop();
    return error;
  }
  if (work->empty()) return ncclSuccess;
  return blocking ? work->run() : run_behind(work);
}

void Group::reset() {
  error_ = ncclSuccess;
  blocking_.reset();
  work_ = std::make_unique<GroupWork>();
}

}  // namespace nccl_slab::loopback
