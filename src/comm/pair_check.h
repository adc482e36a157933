// Pair check: before any kernel of ours may wait, each rank fills the rings of every peer by copies and each
// owner compares what has arrived in its own memory, bit by bit. It names the pair exactly, costs
// milliseconds where data is lost, and proves nothing yet about stores of kernels: that is the self-test's.
#pragma once

#include "comm/engine.h"
#include "comm/test_findings.h"

namespace nccl_slab::comm {

// Called by all ranks on the current device. An error means that this rank has seen something wrong; the
// pairs into this rank whose data did not arrive whole are blamed. Nobody compares where a rank is unable. The
// rings are left full of test data, and a peer may still compare: the ranks must meet before any of them
// writes there again.
Status check_pairs(Engine& engine, Deadline deadline, TestFindings* findings);

}  // namespace nccl_slab::comm
