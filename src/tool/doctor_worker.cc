#include "tool/doctor_worker.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "tool/doctor_orders.h"

namespace nccl_slab::tool {
namespace {

constexpr int kPatience = 60000;  // milliseconds for one answer

// The worker's side: until the doctor is gone.
[[noreturn]] void serve(int socket, const HostRegions& regions) {
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  Orders orders(regions);
  Question question;
  while (::recv(socket, &question, sizeof(question), 0) == static_cast<ssize_t>(sizeof(question))) {
    Answer answer;
    const Status status = orders.obey(question, &answer);
    answer.good = status.is_ok();
    if (!status) std::strncpy(answer.text, status.what().c_str(), sizeof(answer.text) - 1);
    if (::send(socket, &answer, sizeof(answer), MSG_NOSIGNAL) < 0) break;
  }
  ::_exit(0);
}

}  // namespace

HostRegions::HostRegions(int regions)
    : bytes_(static_cast<std::size_t>(regions) * kBytes),
      memory_(static_cast<char*>(
          ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}

HostRegions::~HostRegions() {
  if (memory_ != MAP_FAILED) ::munmap(memory_, bytes_);
}

Worker::Worker(Worker&& other) noexcept
    : socket_(std::move(other.socket_)), process_(std::exchange(other.process_, -1)) {}

Worker::~Worker() {
  socket_.reset();
  if (process_ <= 0) return;
  (void)::kill(process_, SIGKILL);
  (void)::waitpid(process_, nullptr, 0);
}

Status Worker::start(const HostRegions& regions, Worker* worker) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return Status::error(std::string("socketpair: ") + std::strerror(errno));
  worker->socket_ = OwnedFd(ends[0]);
  const OwnedFd theirs(ends[1]);
  worker->process_ = ::fork();
  if (worker->process_ < 0) return Status::error(std::string("fork: ") + std::strerror(errno));
  if (worker->process_ == 0) {
    worker->socket_.reset();
    serve(theirs.get(), regions);
  }
  return Status::ok();
}

Status Worker::tell(const Question& question) {
  if (::send(socket_.get(), &question, sizeof(question), MSG_NOSIGNAL) > 0) return Status::ok();
  return Status::error("the process of this GPU has died");
}

Status Worker::hear(Answer* answer) {
  pollfd polled{socket_.get(), POLLIN, 0};
  const int ready = ::poll(&polled, 1, kPatience);
  if (ready == 0) {
    (void)::kill(process_, SIGKILL);
    return Status::error("no answer within " + std::to_string(kPatience / 1000) + " s");
  }
  if (::recv(socket_.get(), answer, sizeof(*answer), 0) != static_cast<ssize_t>(sizeof(*answer)))
    return Status::error("the process of this GPU has died");
  answer->text[sizeof(answer->text) - 1] = '\0';
  return answer->good ? Status::ok() : Status::error(answer->text);
}

Status Worker::ask(const Question& question, Answer* answer) {
  const Status told = tell(question);
  return told ? hear(answer) : told;
}

}  // namespace nccl_slab::tool
