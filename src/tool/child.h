// A child that stands for this process: it gets the signals that are sent to us, and we end as it ended.
#pragma once

#include <functional>

namespace nccl_slab::tool {

// Runs `body` (which normally becomes another program; else its return value is the child's exit status) in a
// forked child and waits for it. Returns the child's exit status, or 128 + signal if a signal ended it. One
// call per process.
int run_child(const std::function<int()>& body);

}  // namespace nccl_slab::tool
