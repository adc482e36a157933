// Groups. The real calls come first, so that NCCL decides what is right; nothing of ours starts before the
// outermost real end has succeeded, and an error anywhere in the group makes that end fail. Where that end answers
// ncclInProgress it is the program's poll that tells of its success.
#include "abi/birth.h"
#include "abi/export.h"
#include "abi/group.h"
#include "abi/pending_groups.h"
#include "call/reduce_scatter.h"

namespace nccl_slab::abi {
namespace {

ncclResult_t launch_requests(ncclResult_t answer) {
  if (group().requests().empty()) return ncclSuccess;
  ncclResult_t launched = ncclInternalError;
  do_our_part([&] {
    const bool later = answer == ncclInProgress && are_polled(group().requests());
    if (later) await_issue(group().requests());
    launched = later ? ncclSuccess : call::launch_group(group().requests());
  });
  return launched;
}

// What waits in the group is over afterwards, whatever the answer was.
ncclResult_t start_group_work(ncclResult_t answer) {
  std::vector<Birth> births = group().take_births();
  const ncclResult_t wrong = group().take_error();
  if (wrong != ncclSuccess) answer = wrong;
  const bool starts = answer == ncclSuccess || answer == ncclInProgress;
  const ncclResult_t launched = starts ? launch_requests(answer) : ncclSuccess;
  group().drop_requests();
  if (!starts) return answer;
  answer = finish_births(std::move(births), answer);
  return launched != ncclSuccess ? launched : answer;
}

void drop_group_work() {
  group().drop_requests();
  (void)group().take_births();
  (void)group().take_error();
}

}  // namespace
}  // namespace nccl_slab::abi

NCCL_SLAB_EXPORT(ncclGroupStart)
ncclResult_t ncclGroupStart() {
  using namespace nccl_slab::abi;
  const Origin origin = NCCL_SLAB_ORIGIN();
  if (origin.straight) return origin.real().ncclGroupStart();
  const ncclResult_t answer = call_real(origin.real().ncclGroupStart);
  if (answer == ncclSuccess) group().start();
  return answer;
}

NCCL_SLAB_EXPORT(ncclGroupEnd)
ncclResult_t ncclGroupEnd() {
  using namespace nccl_slab::abi;
  const Origin origin = NCCL_SLAB_ORIGIN();
  if (origin.straight) return origin.real().ncclGroupEnd();
  const bool outermost = group().outermost();
  const ncclResult_t answer = call_real(origin.real().ncclGroupEnd);
  if (group().open()) group().end();
  return outermost ? start_group_work(answer) : answer;
}

// Ends the group without running it.
NCCL_SLAB_EXPORT(ncclGroupSimulateEnd)
ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t* info) {
  using namespace nccl_slab::abi;
  const Origin origin = NCCL_SLAB_ORIGIN();
  if (origin.straight) return origin.real().ncclGroupSimulateEnd(info);
  const bool outermost = group().outermost();
  const ncclResult_t answer = call_real(origin.real().ncclGroupSimulateEnd, info);
  if (group().open()) group().end();
  if (outermost) drop_group_work();
  return answer;
}
