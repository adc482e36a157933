// The rounds of the self-test, as a list. Pure: a function of what all ranks share.
#pragma once

#include <string>
#include <vector>

#include "comm/engine.h"
#include "comm/self_test.h"
#include "comm/test_data.h"

namespace nccl_slab::comm {

struct TestRound {
  std::string name;     // for the one line of a failure
  Operation operation;  // without buffers
  TestData data;
  bool replayed = false;  // captured, and run as a graph
  // The kernel sums what the sources wrote, without partial sums on the way: wrong data names its pair.
  bool direct() const { return is_flat(operation.plan.kernel, operation.plan.tree); }
};

std::vector<TestRound> self_test_rounds(const PlanFacts& facts, TestDepth depth);

}  // namespace nccl_slab::comm
