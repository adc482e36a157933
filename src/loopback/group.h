// Group: the state of ncclGroupStart / ncclGroupEnd. Every call that creates, finalizes or communicates opens
// a group of its own, so that a single call and a group take the same way. The last error in a group is
// kept; its end returns it and starts nothing. Thread safety: one per thread.
#pragma once

#include <functional>
#include <optional>

#include "loopback/group_work.h"

namespace nccl_slab::loopback {

class Group {
 public:
  static Group& current();

  void start() { ++depth_; }
  // InProgress if the group is one of non-blocking communicators: its work then goes on in a thread.
  ncclResult_t end();
  // Ends the group without starting anything. `judge` is asked at the outermost end, unless that has failed.
  ncclResult_t end_without_work(const std::function<ncclResult_t()>& judge);

  bool is_open() const { return depth_ > 0; }
  // Remembers an error of a call inside the group; returns its argument.
  ncclResult_t note(ncclResult_t result);

  // Creations and ends of blocking and of non-blocking communicators do not mix in a group: InvalidArgument.
  ncclResult_t admit(bool blocking);
  // Operations do: the last communicator's way is the group's.
  void join(bool blocking) { blocking_ = blocking; }
  GroupWork& work() { return *work_; }

 private:
  ncclResult_t end_outermost(bool simulated);
  void reset();

  int depth_ = 0;
  ncclResult_t error_ = ncclSuccess;
  std::optional<bool> blocking_;
  std::unique_ptr<GroupWork> work_ = std::make_unique<GroupWork>();
};

}  // namespace nccl_slab::loopback
