// ThreadMeeting: the meeting of ranks that are threads of one process, for tests and for programs that use
// the public API without sockets. The callback of on_gone runs on the thread of the rank that leaves, or that
// sets it.
//
// Thread safety: as Meeting's. Each rank's object may be destroyed at any time, which the others notice like
// a death.
#pragma once

#include <memory>
#include <vector>

#include "comm/meeting.h"

namespace nccl_slab::comm {

class ThreadMeeting final : public Meeting {
 public:
  // One meeting of nranks ranks; element r is rank r's. At most 16 ranks.
  static std::vector<std::unique_ptr<ThreadMeeting>> make(int nranks);
  ~ThreadMeeting() override;

  int rank() const override { return rank_; }
  int nranks() const override;
  Status all_gather(Contribution mine, Deadline deadline, std::vector<Contribution>* all) override;
  bool agree(bool yes, Deadline deadline) override;
  bool refused() const override;
  void on_gone(std::function<void(int rank)> gone) override;
  void goodbye(std::uint64_t operations) override;
  std::int64_t departed_after(int rank) const override;
  bool exited(int) const override { return false; }  // nobody outlives the others' process

 private:
  struct Hall;
  ThreadMeeting(std::shared_ptr<Hall> hall, int rank);

  const std::shared_ptr<Hall> hall_;
  const int rank_;
};

}  // namespace nccl_slab::comm
