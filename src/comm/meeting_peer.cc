#include "comm/meeting_peer.h"

#include <limits>
#include <utility>

namespace nccl_slab::comm {
namespace {

// A peer that has all of stage k, ours included, may send stage k+1 before we have taken its k; not more.
constexpr std::size_t kMostWaiting = 2;

bool is_readable(const PrivateFd& fd) {
  pollfd polled{fd.get(), POLLIN, 0};
  return fd && ::poll(&polled, 1, 0) == 1;
}

}  // namespace

Peer::Peer(Present present, int our_position)
    : position_(present.position),
      says_hello_here_(position_ > our_position),
      pid_(present.pid),
      connection_(std::move(present.connection)),
      process_(watch_process(pid_)) {}

void Peer::adopt(PrivateFd connection) {
  connection_ = std::move(connection);
  said_hello_ = true;
}

void Peer::send(std::shared_ptr<const Frame> frame) {
  if (ended_) return;
  outbox_.push_back(std::move(frame));
  send_queued();
}

void Peer::send_queued() {
  while (!outbox_.empty()) {
    const Sent sent = send_frame(connection_.get(), *outbox_.front());
    if (sent == Sent::kNothing) return;
    if (sent == Sent::kFailed) {
      broken_ = true;
      return;
    }
    // kEnded: the reading side will come to the end after what the peer sent before, e.g. its goodbye.
    outbox_.pop_front();
  }
}

void Peer::serve() {
  if (ended_) return;
  send_queued();
  // Before reading: once the process is gone nothing can follow what the connection then holds.
  const bool process_over = is_readable(process_);
  read_all();
  if (process_over || broken_) close();
}

void Peer::read_all() {
  while (!ended_) {
    Frame frame;
    const Received received = receive_frame(connection_.get(), &frame);
    if (received == Received::kNothing) return;
    if (received != Received::kFrame || !accept_frame(std::move(frame))) close();
  }
}

// On a connection that only shows that a lower position is present nothing is said at all.
bool Peer::accept_hello(Frame frame) {
  const std::optional<Hello> hello = hello_in(frame);
  if (!says_hello_here_ || !hello || hello->position != position_) return false;
  introduction_ = Introduction{*hello, PrivateFd(), pid_, std::move(frame.descriptors)};
  said_hello_ = true;
  return true;
}

bool Peer::accept_frame(Frame frame) {
  if (!said_hello_) return accept_hello(std::move(frame));
  if (const std::optional<Goodbye> goodbye = goodbye_in(frame)) {
    if (departed_after_ >= 0 || goodbye->operations > std::numeric_limits<std::int64_t>::max()) return false;
    departed_after_ = static_cast<std::int64_t>(goodbye->operations);
    return true;
  }
  if (exit_notice_in(frame)) return announces_exit_ = true;
  if (!assembler_.add(std::move(frame))) return false;
  if (assembler_.complete()) inbox_.push_back(assembler_.take());
  return inbox_.size() <= kMostWaiting;
}

Contribution Peer::take_contribution() {
  Contribution contribution = std::move(inbox_.front());
  inbox_.pop_front();
  return contribution;
}

void Peer::close() {
  ended_ = true;
  connection_.reset();
  process_.reset();
  outbox_.clear();
}

void Peer::abandon() {
  close();
  inbox_.clear();
  assembler_ = Assembler();
}

void Peer::add_to(std::vector<pollfd>* polled) const {
  if (ended_) return;
  const short send = outbox_.empty() ? 0 : POLLOUT;
  polled->push_back({connection_.get(), static_cast<short>(POLLIN | send), 0});
  if (process_) polled->push_back({process_.get(), POLLIN, 0});
}

}  // namespace nccl_slab::comm
