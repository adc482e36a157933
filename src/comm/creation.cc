#include "comm/creation.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <string>

#include "base/log.h"
#include "base/settings.h"
#include "comm/agreement.h"
#include "comm/engine.h"
#include "comm/exit_gate.h"
#include "comm/next_step.h"
#include "comm/pair_check.h"
#include "comm/pair_history.h"
#include "comm/pair_rates.h"
#include "comm/peer_end.h"
#include "comm/quarantine.h"
#include "comm/quiet_thread.h"
#include "comm/self_test.h"
#include "comm/socket_meeting.h"
#include "device/guards.h"
#include "topology/island_text.h"

namespace nccl_slab::comm {
namespace {

// How a stage of the set-up ended on this rank, or on all.
struct Outcome {
  Reason reason = Reason::none;
  std::string text{};  // more than the reason's sentence says; may be empty
  topology::PairSet blamed{}, late{};
  bool stuck = false;  // a kernel does not end: nothing of the slab may be used again
};

// What of it the ranks show each other, in front of the text.
struct OutcomeRecord {
  Reason reason = Reason::none;
  std::uint32_t stuck = 0;
  topology::PairSet blamed, late;
};

Contribution as_contribution(const Outcome& outcome) {
  const OutcomeRecord record{outcome.reason, outcome.stuck, outcome.blamed, outcome.late};
  Contribution contribution;
  contribution.bytes.resize(sizeof(record) + outcome.text.size());
  std::memcpy(contribution.bytes.data(), &record, sizeof(record));
  std::memcpy(contribution.bytes.data() + sizeof(record), outcome.text.data(), outcome.text.size());
  return contribution;
}

Outcome outcome_of(const Contribution& contribution) {
  OutcomeRecord record{};
  if (contribution.bytes.size() < sizeof(record)) return {Reason::setup_failed, "a rank sent a short record"};
  std::memcpy(&record, contribution.bytes.data(), sizeof(record));
  const auto* text = reinterpret_cast<const char*>(contribution.bytes.data()) + sizeof(record);
  return {record.reason, std::string(text, contribution.bytes.size() - sizeof(record)), record.blamed,
          record.late, record.stuck != 0};
}

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
    if (!agreement_.verdict.use())
      return {agreement_.verdict.reason, topology::details(agreement_.verdict, agreement_.facts)};
    return build_and_test();
  }

  // A pair whose peer memory does not work takes host memory, and everything is built and tested anew. Every
  // turn but one takes peer memory from at least one pair, and the deadline bounds them all.
  Outcome build_and_test() {
    Outcome all = attempt();
    while (all.reason != Reason::none && fall_back(all)) all = attempt();
    if (all.reason != Reason::none) return refuse(all.reason, all.text);
    remember_proven(agreement_);
    if (!communicator_->may_vote()) return refuse(Reason::setup_timeout, "");
    if (meeting_->agree(true, deadline_)) return {};
    return {Reason::setup_timeout, "a rank did not agree in time"};
  }

  // Everyone's outcome of the first stage in which a rank failed; none if the slab works.
  Outcome attempt() {
    if (const Outcome all = passed(&SetUp::build, &SetUp::check); all.reason != Reason::none) return all;
    if (!rates_known_ && rates_matter(agreement_, settings())) {
      bool changed = false;
      const Outcome measured = compare_rates(&changed);
      if (changed) return attempt();
      if (measured.reason != Reason::none) return measured;
    }
    return passed(&SetUp::test);
  }

  using Stage = Outcome (SetUp::*)();
  template <typename... Stages>
  Outcome passed(Stages... stages) {
    for (const Stage stage : {static_cast<Stage>(stages)...}) {
      const Outcome mine = (this->*stage)();
      // The last one is also the sign that every rank's test kernels have left: nobody frees memory before
      // it.
      Outcome all = share(mine);
      if (all.reason == Reason::none) continue;
      warn(mine);
      return all;
    }
    return {};
  }

  // Pairs that are far faster through host memory go that way, or the ranks form islands, and the slab is built
  // anew; once.
  Outcome compare_rates(bool* changed) {
    rates_known_ = true;
    RateFindings findings;
    Outcome mine;
    if (const Status met = measure_pairs(*engine_, agreement_, deadline_, &findings); !met) mine = unmet(met);
    if (findings.stuck) mine = {Reason::self_test_failed, "a test kernel does not end", {}, {}, true};
    const Outcome all = share(mine);
    if (all.reason != Reason::none) return all;
    *changed = !findings.slow.empty() || findings.islands;
    if (!findings.slow.empty()) {
      remember_slow(agreement_.facts, findings.slow);
      retreat(with_slow_pairs(agreement_, findings.slow, settings()), findings.text);
    } else if (findings.islands) {
      remember_rates(agreement_.facts, *findings.islands);
      begin_anew(with_rates(agreement_, *findings.islands, settings()));
    }
    return all;
  }

  Outcome build() {
    topology::PairSet unmapped;
    const Status built =
        Engine::build(meeting_, agreement_, communicator_->device(), deadline_, &engine_, &unmapped);
    return built ? Outcome{} : unable(built, unmapped);
  }

  Outcome check() {
    TestFindings findings;
    if (agreement_.proven) return {};
    return outcome_of_test(check_pairs(*engine_, self_test_deadline(), &findings), findings);
  }

  Outcome test() {
    TestFindings findings;
    const TestDepth depth = agreement_.proven ? TestDepth::kShort : TestDepth::kWhole;
    return outcome_of_test(self_test(*engine_, depth, self_test_deadline(), &findings), findings);
  }

  Outcome outcome_of_test(const Status& tested, const TestFindings& findings) const {
    if (tested) return {};
    if (findings.unable) return unable(tested, {});
    return {Reason::self_test_failed, tested.what(), findings.blamed, findings.late, findings.stuck};
  }

  // A gathering without a rank: it has not come in time, or has ended.
  Outcome unmet(const Status& met) const {
    const bool late = std::chrono::steady_clock::now() >= deadline_;
    return {late ? Reason::setup_timeout : Reason::setup_failed, met.what()};
  }

  // What this rank cannot do, whatever becomes of data on its way. The text is read by others, too.
  Outcome unable(const Status& failed, const topology::PairSet& unmapped) const {
    const std::string who = "rank " + std::to_string(communicator_->rank());
    return {Reason::setup_failed, who + ": " + failed.what(), unmapped};
  }

  // The one line that says what is wrong, from the rank that saw it, once per process and pair.
  void warn(const Outcome& mine) const {
    static std::atomic<bool> told{false};
    if (first_to_tell(agreement_.facts, mine.blamed))
      NCCL_SLAB_WARN("peer memory does not work between these GPUs: %s", mine.text.c_str());
    else if (mine.reason == Reason::setup_failed && mine.blamed.empty() && !told.exchange(true))
      NCCL_SLAB_WARN("the slab cannot be set up: %s", mine.text.c_str());
  }

  // False if there is nothing left to try.
  bool fall_back(const Outcome& all) {
    if (all.stuck || tests_may_run_) return false;
    const NextStep next = next_step(
        {all.reason == Reason::self_test_failed, all.blamed, all.late, peer_pairs(agreement_), repeated_});
    if (next.step == Step::kGiveUp) return false;
    if (next.step == Step::kRepeat) return repeat(all.text);
    if (next.step == Step::kLeaveLying) remember_lying(agreement_.facts, next.pairs);
    if (next.step == Step::kLeaveLate) remember_late(agreement_.facts, communicator_->rank(), next.pairs);
    Agreement agreement = without_peer_memory(agreement_, next.pairs, settings());
    if (!agreement.verdict.use()) return false;
    if (next.step == Step::kLeaveLate) warn_of_late(all.text);
    retreat(std::move(agreement), all.text);
    return true;
  }

  // One line of a communicator: nobody is to blame, and all know the same.
  void warn_of_late(const std::string& why) const {
    if (communicator_->rank() == 0)
      NCCL_SLAB_WARN(
          "peer memory has not answered in time, in two tests, and host memory is used instead: %s",
          why.c_str());
  }

  bool repeat(const std::string& why) {
    repeated_ = true;
    NCCL_SLAB_INFO("rank %d of %d: the self-test ran out of time and is repeated: %s", communicator_->rank(),
                   communicator_->nranks(), why.c_str());
    begin_anew(agreement_);
    return true;
  }

  void retreat(Agreement next, const std::string& why) {
    NCCL_SLAB_INFO("rank %d of %d: pairs go over to host memory: %s", communicator_->rank(),
                   communicator_->nranks(), why.c_str());
    begin_anew(std::move(next));
  }

  void begin_anew(Agreement next) {
    engine_.reset();
    agreement_ = std::move(next);
  }

  // Leaves time for the ranks to tell each other the result, and to try again.
  Deadline self_test_deadline() const {
    const auto left = deadline_ - std::chrono::steady_clock::now();
    return std::chrono::steady_clock::now() + left / 2;
  }

  // Everyone's outcome of a stage: the first failure by rank and all pairs that are blamed, the same on all
  // ranks.
  Outcome share(const Outcome& mine) {
    std::vector<Contribution> contributions;
    if (const Status status = meeting_->all_gather(as_contribution(mine), deadline_, &contributions);
        !status) {
      tests_may_run_ = true;
      return mine.reason != Reason::none ? mine : unmet(status);
    }
    Outcome all;
    for (const Contribution& contribution : contributions) {
      const Outcome outcome = outcome_of(contribution);
      all.blamed.add(outcome.blamed);
      all.late.add(outcome.late);
      all.stuck |= outcome.stuck;
      if (all.reason != Reason::none) continue;
      all.reason = outcome.reason;
      all.text = outcome.text;
    }
    return all;
  }

  Outcome refuse(Reason reason, const std::string& text) {
    (void)meeting_->agree(false, deadline_);
    // A peer that did not answer, or a kernel of ours that does not end, may still write: the slab is left to
    // the process.
    if (engine_ != nullptr && (tests_may_run_ || !engine_->operations_finished()))
      keep_for_ever(std::move(engine_));
    return {reason, text};
  }

  void watch_peers() {
    const std::weak_ptr<Engine> engine = engine_;
    meeting_->on_gone([engine](int rank) {
      if (const std::shared_ptr<Engine> alive = engine.lock()) end_with_peer(alive, rank);
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
        "rank %d of %d: reduce-scatter uses the slab, islands %s%s, mailboxes in %s memory (set up in %.1f "
        "ms)",
        rank, nranks, topology::island_text(agreement_.tree).c_str(),
        agreement_.islands_from == IslandSource::kRates ? " from measured rates" : "",
        engine_->plan_facts().host_memory ? "host" : "GPU", ms);
  }

  const std::shared_ptr<Communicator> communicator_;
  const std::shared_ptr<SocketMeeting> meeting_;
  const Deadline deadline_;
  Agreement agreement_;
  std::shared_ptr<Engine> engine_;
  bool tests_may_run_ = false;
  bool repeated_ = false;     // the self-test, which ran out of time
  bool rates_known_ = false;  // both ways of every pair have been measured
};

void set_up(const std::shared_ptr<Communicator>& communicator,
            const std::shared_ptr<SocketMeeting>& meeting) {
  const ExitPass pass;
  try {
    if (!pass) throw std::runtime_error("the process exits");
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
  release_from_quarantine();
  try {
    start_thread([communicator, meeting = std::move(state_->meeting)] { set_up(communicator, meeting); });
  } catch (const std::exception& error) {
    NCCL_SLAB_WARN("no set-up for a communicator: %s", error.what());
    communicator->settle(Reason::setup_failed, nullptr);
  }
  return communicator;
}

std::shared_ptr<Communicator> Creation::unnamed(ncclComm_t real, int rank, int nranks, int device) {
  auto communicator = std::make_shared<Communicator>(real, MeetingName{}, rank, nranks, device);
  NCCL_SLAB_INFO("rank %d of %d: NCCL serves this communicator: %s", rank, nranks,
                 reason_sentence(Reason::unnamed));
  communicator->settle(Reason::unnamed, nullptr);
  return communicator;
}

}  // namespace nccl_slab::comm
