// Self-test: before a slab is used, every directed pair is tried with the kernels that will use it, and
// checked by what the *owner* reads. A writer's read-back would prove nothing: private mirrors exist.
#pragma once

#include "comm/engine.h"
#include "comm/test_findings.h"

namespace nccl_slab::comm {

// How much is tried: everything, or, where every pair has passed all that before, each kernel once.
enum class TestDepth { kWhole, kShort };

// Called by all ranks on the current device. Every kernel and tree of the engine runs with mutually waiting
// ranks: eager, as a graph replay, and (kWhole) through every slot, every small mailbox and the longest
// chunks, with data in which any flipped bit shows (test_data.h). Bounded by the deadline; when it returns,
// none of the kernels runs any more, unless *findings says stuck. Nothing runs where a rank is unable. Error:
// what was seen.
Status self_test(Engine& engine, TestDepth depth, Deadline deadline, TestFindings* findings);

}  // namespace nccl_slab::comm
