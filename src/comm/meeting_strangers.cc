#include "comm/meeting_strangers.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace nccl_slab::comm {
namespace {

constexpr std::ptrdiff_t kMost = 64;  // of the silent, and of those that have said hello
constexpr int kMostAtOnce = 128;      // so that a flood cannot keep the thread from its peers

}  // namespace

Status Strangers::listen(const MeetingName& name) {
  name_ = name;
  return listen_at(name.socket_name(name.position), &listener_);
}

Status Strangers::serve() {
  if (Status status = accept_waiting(); !status) return status;
  std::erase_if(strangers_, [this](Stranger& stranger) { return !keep_after_reading(&stranger); });
  drop_oldest(/*with_hello=*/false);
  drop_oldest(/*with_hello=*/true);
  return Status::ok();
}

// A peer may have connected and gone already: its hello is read all the same, and the meeting finds out that
// it left.
Status Strangers::accept_waiting() {
  for (int accepted = 0; listener_ && accepted < kMostAtOnce; ++accepted) {
    PrivateFd connection = accept_from(listener_);
    if (!connection) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      return errno == EAGAIN ? Status::ok()
                             : Status::error(std::string("accepting a rank: ") + std::strerror(errno));
    }
    const std::optional<PeerProcess> process = process_behind(connection);
    if (process && process->uid == ::geteuid())
      strangers_.push_back({std::move(connection), process->pid, {}, {}});
  }
  return Status::ok();
}

// Whoever has said hello is not read on: what follows, be it the end, is for the peer that it becomes.
bool Strangers::keep_after_reading(Stranger* stranger) const {
  if (stranger->hello) return true;
  Frame frame;
  const Received received = receive_frame(stranger->connection.get(), &frame);
  if (received == Received::kNothing) return true;
  if (received != Received::kFrame) return false;
  stranger->hello = hello_in(frame);
  stranger->descriptors = std::move(frame.descriptors);
  return stranger->hello && std::equal(name_.id.begin(), name_.id.end(), stranger->hello->id);
}

void Strangers::drop_oldest(bool with_hello) {
  const auto counts = [&](const Stranger& stranger) { return stranger.hello.has_value() == with_hello; };
  auto surplus = std::count_if(strangers_.begin(), strangers_.end(), counts) - kMost;
  std::erase_if(strangers_, [&](const Stranger& stranger) { return counts(stranger) && surplus-- > 0; });
}

std::vector<Introduction> Strangers::take_introductions() {
  std::vector<Introduction> introductions;
  for (Stranger& stranger : strangers_)
    if (stranger.hello)
      introductions.push_back(
          {*stranger.hello, std::move(stranger.connection), stranger.pid, std::move(stranger.descriptors)});
  std::erase_if(strangers_, [](const Stranger& stranger) { return stranger.hello.has_value(); });
  return introductions;
}

void Strangers::close() {
  listener_.reset();
  strangers_.clear();
}

void Strangers::add_to(std::vector<pollfd>* polled) const {
  if (listener_) polled->push_back({listener_.get(), POLLIN, 0});
  for (const Stranger& stranger : strangers_)
    if (!stranger.hello) polled->push_back({stranger.connection.get(), POLLIN, 0});
}

}  // namespace nccl_slab::comm
