#include "comm/thread_meeting.h"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>

#include "comm/meeting_contribution.h"
#include "comm/meeting_gone_callback.h"
#include "comm/meeting_verdict_word.h"

namespace nccl_slab::comm {

// What the ranks share. One lock; callbacks run without it.
struct ThreadMeeting::Hall {
  struct Seat {
    std::vector<std::deque<Contribution>> inbox;  // by sender
    std::vector<bool> noticed;                    // on_gone has told this rank
    bool left = false;                            // or withdrawn
    std::int64_t departed_after = -1;
    GoneCallback callback;
  };

  explicit Hall(int nranks) : seats(nranks) {
    for (Seat& seat : seats) {
      seat.inbox.resize(nranks);
      seat.noticed.resize(nranks);
    }
  }

  bool has_all(int rank) const {
    const auto& inbox = seats[rank].inbox;
    return std::none_of(inbox.begin(), inbox.end(), [](const auto& from) { return from.empty(); });
  }
  // Somebody has left without its contribution to the gathering that `rank` waits for.
  bool lacks_one(int rank) const {
    bool lacks = false;
    for (std::size_t from = 0; from < seats.size(); ++from)
      lacks |= seats[from].left && seats[rank].inbox[from].empty();
    return lacks;
  }
  Verdict verdict() const { return verdict_word::verdict_of(word); }
  void refuse() {
    word = verdict_word::after_refusal(word);
    changed.notify_all();
  }

  // A rank that can no longer say yes contributes nothing more, either.
  void withdraw(int rank) {
    refuse();
    if (verdict() == Verdict::kForward) seats[rank].left = true;
  }

  int next_notice(int rank) {
    const std::lock_guard<std::mutex> lock(mutex);
    for (std::size_t other = 0; verdict() == Verdict::kUse && other < seats.size(); ++other) {
      if (!seats[other].left || seats[other].departed_after >= 0 || seats[rank].noticed[other]) continue;
      seats[rank].noticed[other] = true;
      return static_cast<int>(other);
    }
    return -1;
  }
  void deliver_notices(int rank) {
    seats[rank].callback.deliver([&] { return next_notice(rank); });
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::uint32_t word = 0;
  std::vector<Seat> seats;
};

std::vector<std::unique_ptr<ThreadMeeting>> ThreadMeeting::make(int nranks) {
  auto hall = std::make_shared<Hall>(nranks);
  std::vector<std::unique_ptr<ThreadMeeting>> meetings;
  meetings.reserve(static_cast<std::size_t>(nranks));
  for (int rank = 0; rank < nranks; ++rank) meetings.emplace_back(new ThreadMeeting(hall, rank));
  return meetings;
}

ThreadMeeting::ThreadMeeting(std::shared_ptr<Hall> hall, int rank) : hall_(std::move(hall)), rank_(rank) {}

ThreadMeeting::~ThreadMeeting() {
  on_gone({});
  {
    const std::lock_guard<std::mutex> lock(hall_->mutex);
    hall_->seats[rank_].left = true;
    hall_->refuse();
  }
  for (int other = 0; other < nranks(); ++other) hall_->deliver_notices(other);
}

int ThreadMeeting::nranks() const {
  return static_cast<int>(hall_->seats.size());
}

Status ThreadMeeting::all_gather(Contribution mine, Deadline deadline, std::vector<Contribution>* all) {
  std::vector<Contribution> copies(nranks());
  Status duplicated;
  for (Contribution& copy : copies)
    if (duplicated) duplicated = duplicate(mine, &copy);
  std::unique_lock<std::mutex> lock(hall_->mutex);
  if (!duplicated) {
    hall_->withdraw(rank_);
    return duplicated;
  }
  for (int other = 0; other < nranks(); ++other)
    hall_->seats[other].inbox[rank_].push_back(std::move(copies[other]));
  hall_->changed.notify_all();
  const bool settled = hall_->changed.wait_until(
      lock, deadline, [&] { return hall_->has_all(rank_) || hall_->lacks_one(rank_); });
  if (!hall_->has_all(rank_)) {
    hall_->withdraw(rank_);
    return Status::error(settled ? "a rank has left the meeting" : "not all ranks have contributed in time");
  }
  all->clear();
  for (auto& from : hall_->seats[rank_].inbox) {
    all->push_back(std::move(from.front()));
    from.pop_front();
  }
  return Status::ok();
}

bool ThreadMeeting::agree(bool yes, Deadline deadline) {
  std::unique_lock<std::mutex> lock(hall_->mutex);
  if (!yes) hall_->refuse();
  hall_->word = verdict_word::after_vote(hall_->word, rank_, nranks());
  hall_->changed.notify_all();
  const auto decided = [&] { return hall_->verdict() != Verdict::kUndecided; };
  (void)hall_->changed.wait_until(lock, deadline, decided);
  hall_->withdraw(rank_);  // unless the ranks have agreed
  return hall_->verdict() == Verdict::kUse;
}

bool ThreadMeeting::refused() const {
  const std::lock_guard<std::mutex> lock(hall_->mutex);
  return hall_->verdict() == Verdict::kForward;
}

void ThreadMeeting::on_gone(std::function<void(int rank)> gone) {
  hall_->seats[rank_].callback.set(std::move(gone));
  hall_->deliver_notices(rank_);
}

void ThreadMeeting::goodbye(std::uint64_t operations) {
  const std::lock_guard<std::mutex> lock(hall_->mutex);
  std::int64_t& departed_after = hall_->seats[rank_].departed_after;
  if (departed_after < 0) departed_after = static_cast<std::int64_t>(operations);
}

std::int64_t ThreadMeeting::departed_after(int rank) const {
  const std::lock_guard<std::mutex> lock(hall_->mutex);
  return hall_->seats[rank].departed_after;
}

}  // namespace nccl_slab::comm
