// Next step: what the ranks do when their tests of a new slab have failed. Pure: a function of what all have
// shown, so that all do the same. A test that ran out of time proves nothing of a pair: the machine may be
// busy. It is repeated, once in a set-up, before the pair is judged, and never counts as wrong data.
#pragma once

#include "topology/pair_set.h"

namespace nccl_slab::comm {

struct Failure {
  bool in_self_test = false;  // a test has failed, not a call
  topology::PairSet blamed;   // by anyone: wrong data, or memory that cannot be mapped
  topology::PairSet late;     // by anyone: no data until the time was up
  topology::PairSet peers;    // pairs that go through peer memory
  bool repeated = false;      // a test that ran out of time has been repeated
};

enum class Step {
  kGiveUp,      // nothing is left to try
  kRepeat,      // the same again
  kLeaveLying,  // the pairs go over to host memory, for good
  kLeaveLate,   // the pairs go over to host memory, in this communicator
};

struct NextStep {
  Step step = Step::kGiveUp;
  topology::PairSet pairs;
};

NextStep next_step(const Failure& failure);

}  // namespace nccl_slab::comm
