#include "comm/creation.h"

#include <chrono>
#include <cstring>
#include <string>

#include "base/log.h"
#include "base/settings.h"
#include "comm/agreement.h"
#include "comm/engine.h"
#include "comm/quarantine.h"
#include "comm/quiet_thread.h"
#include "comm/registry.h"
#include "comm/self_test.h"
#include "comm/socket_meeting.h"
#include "device/guards.h"
#include "topology/island_text.h"

namespace nccl_slab::comm {
namespace {

// How a stage of the set-up ended on this rank.
struct Outcome {
  Reason reason = Reason::none;
  std::string text;  // more than the reason's sentence says; may be empty
};

// The set-up of one communicator on one rank, on a thread of its own.
class SetUp {
 public:
  SetUp(std::shared_ptr<Communicator> communicator, std::shared_ptr<SocketMeeting> meeting)
      : communicator_(std::move(communicator)),
        meeting_(std::move(meeting)),
        deadline_(std::chrono::steady_clock::now() + std::chrono::milliseconds(settings().setup_timeout)) {}

  void run() {
    const device::RelaxedCapture relaxed;
    const device::DeviceGuard guard(communicator_->device());
    const auto start = std::chrono::steady_clock::now();
    const Outcome outcome = find_and_agree();
    const double ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    report(outcome, ms);
    if (outcome.reason == Reason::none)
      watch_peers();
    else
      engine_.reset();
    communicator_->settle(outcome.reason, engine_);
  }

 private:
  Outcome find_and_agree() {
    const int rank = communicator_->rank(), nranks = communicator_->nranks();
    if (nranks == 1) return {Reason::one_rank, ""};
    if (nranks > kernels::kMaxRanks) return {Reason::too_many_ranks, ""};
    if (meeting_ == nullptr) return {Reason::missing_rank, "this rank could not open its socket"};
    Reason reason = Reason::setup_failed;
    if (const Status status = meeting_->find_ranks(rank, nranks, deadline_, &reason); !status)
      return {reason, status.what()};
    if (const Status status = agree_on_facts(*meeting_, communicator_->device(), deadline_, &agreement_);
        !status)
      return refuse(Reason::setup_failed, status.what());
    if (!agreement_.verdict.use()) return {agreement_.verdict.reason, topology::sentence(agreement_.verdict)};
    return build_and_test();
  }

  Outcome build_and_test() {
    const Status built = Engine::build(meeting_, agreement_, communicator_->device(), deadline_, &engine_);
    Outcome mine = built ? Outcome{} : Outcome{Reason::setup_failed, built.what()};
    if (const Outcome all = share(mine); all.reason != Reason::none) return refuse(all.reason, all.text);
    if (const Status tested = self_test(*engine_, self_test_deadline()); !tested)
      mine = {Reason::self_test_failed, tested.what()};
    // Also the sign that every rank's test kernels have left: nobody frees memory before it.
    if (const Outcome all = share(mine); all.reason != Reason::none) return refuse(all.reason, all.text);
    if (!communicator_->may_vote()) return refuse(Reason::setup_timeout, "");
    if (meeting_->agree(true, deadline_)) return {};
    return {Reason::setup_timeout, "a rank did not agree in time"};
  }

  // Leaves time for the ranks to tell each other the result.
  Deadline self_test_deadline() const {
    const auto left = deadline_ - std::chrono::steady_clock::now();
    return std::chrono::steady_clock::now() + left / 2;
  }

  // Everyone's outcome of a stage: the first failure by rank, the same on all ranks.
  Outcome share(const Outcome& mine) {
    Contribution contribution;
    contribution.bytes.resize(sizeof(Reason) + mine.text.size());
    std::memcpy(contribution.bytes.data(), &mine.reason, sizeof(Reason));
    std::memcpy(contribution.bytes.data() + sizeof(Reason), mine.text.data(), mine.text.size());
    std::vector<Contribution> all;
    if (const Status status = meeting_->all_gather(std::move(contribution), deadline_, &all); !status) {
      tests_may_run_ = true;
      return mine.reason != Reason::none ? mine : Outcome{Reason::setup_timeout, status.what()};
    }
    for (const Contribution& other : all) {
      if (other.bytes.size() < sizeof(Reason)) return {Reason::setup_failed, "a rank sent a short record"};
      Outcome outcome;
      std::memcpy(&outcome.reason, other.bytes.data(), sizeof(Reason));
      outcome.text.assign(reinterpret_cast<const char*>(other.bytes.data()) + sizeof(Reason),
                          other.bytes.size() - sizeof(Reason));
      if (outcome.reason != Reason::none) return outcome;
    }
    return {};
  }

  Outcome refuse(Reason reason, const std::string& text) {
    (void)meeting_->agree(false, deadline_);
    // A peer that did not answer, or a kernel of ours that does not end, may still write: the slab is left to
    // the process.
    if (engine_ != nullptr && (tests_may_run_ || !engine_->operations_finished()))
      (void)new std::shared_ptr<Engine>(std::move(engine_));
    return {reason, text};
  }

  void watch_peers() {
    const std::weak_ptr<Engine> engine = engine_;
    meeting_->on_gone([engine](int rank) {
      if (const std::shared_ptr<Engine> alive = engine.lock()) Engine::peer_gone(alive, rank);
    });
  }

  void report(const Outcome& outcome, double ms) const {
    const int rank = communicator_->rank(), nranks = communicator_->nranks();
    if (outcome.reason != Reason::none) {
      NCCL_SLAB_INFO("rank %d of %d: NCCL serves this communicator: %s%s%s (%.1f ms)", rank, nranks,
                     reason_sentence(outcome.reason), outcome.text.empty() ? "" : ": ", outcome.text.c_str(),
                     ms);
      return;
    }
    NCCL_SLAB_INFO(
        "rank %d of %d: reduce-scatter uses the slab, islands %s, mailboxes in %s memory (set up in %.1f ms)",
        rank, nranks, topology::island_text(agreement_.tree).c_str(),
        engine_->plan_facts().host_memory ? "host" : "GPU", ms);
  }

  const std::shared_ptr<Communicator> communicator_;
  const std::shared_ptr<SocketMeeting> meeting_;
  const Deadline deadline_;
  Agreement agreement_;
  std::shared_ptr<Engine> engine_;
  bool tests_may_run_ = false;
};

void set_up(const std::shared_ptr<Communicator>& communicator,
            const std::shared_ptr<SocketMeeting>& meeting) {
  try {
    SetUp(communicator, meeting).run();
  } catch (const std::exception& error) {
    NCCL_SLAB_WARN("setting up a communicator failed: %s", error.what());
    communicator->settle(Reason::setup_failed, nullptr);
  }
}

}  // namespace

struct Creation::State {
  MeetingName name;
  std::shared_ptr<SocketMeeting> meeting;
};

Creation::Creation(const MeetingName& name) : state_(std::make_unique<State>()) {
  state_->name = name;
}
Creation::~Creation() = default;

std::unique_ptr<Creation> Creation::enter(const MeetingName& name) {
  std::unique_ptr<Creation> creation(new Creation(name));
  std::unique_ptr<SocketMeeting> meeting;
  if (const Status status = SocketMeeting::enter(name, &meeting); status)
    creation->state_->meeting = std::move(meeting);
  else
    NCCL_SLAB_INFO("no meeting for a communicator: %s", status.what().c_str());
  return creation;
}

std::shared_ptr<Communicator> Creation::begin(ncclComm_t real, int rank, int nranks, int device) {
  auto communicator = std::make_shared<Communicator>(real, state_->name, rank, nranks, device);
  register_communicator(real, communicator);
  release_from_quarantine();
  try {
    start_thread([communicator, meeting = std::move(state_->meeting)] { set_up(communicator, meeting); });
  } catch (const std::exception& error) {
    NCCL_SLAB_WARN("no set-up for a communicator: %s", error.what());
    communicator->settle(Reason::setup_failed, nullptr);
  }
  return communicator;
}

}  // namespace nccl_slab::comm
