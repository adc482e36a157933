// The verdict can never split: first every interleaving of a small model whose moves are the real
// transitions, then many random ones of the real word.
#include "comm/meeting_verdict_word.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <barrier>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "meeting_ranks.h"

namespace nccl_slab::comm {
namespace {

using verdict_word::after_refusal;
using verdict_word::after_vote;
using verdict_word::verdict_of;

TEST(VerdictWord, TransitionsOfOneRankAndOfSixteen) {
  EXPECT_EQ(verdict_of(0), Verdict::kUndecided);
  EXPECT_EQ(verdict_of(after_vote(0, 0, 1)), Verdict::kUse);
  std::uint32_t word = 0;
  for (int rank = 0; rank < 16; ++rank) {
    EXPECT_EQ(verdict_of(word), Verdict::kUndecided);
    EXPECT_EQ(verdict_of(after_refusal(word)), Verdict::kForward);
    EXPECT_EQ(after_vote(after_refusal(word), rank, 16), after_refusal(word)) << "forward is final";
    word = after_vote(word, rank, 16);
    EXPECT_EQ(after_vote(word, rank, 16), word) << "a second vote counts nothing";
  }
  EXPECT_EQ(verdict_of(word), Verdict::kUse);
  EXPECT_EQ(after_refusal(word), word) << "use is final";
}

// The model: every rank votes or refuses, then waits and may run into its deadline at any moment; one more
// actor is a service thread that refuses at any moment. A step is one atomic access: a load or a
// compare-and-swap. That a rank dies needs no step of its own: every state counts, and in some of them it has
// just made its last one.
enum class Fault {
  kNone,
  kBlindRefusal,   // refuses by a plain store of what it read before
  kSilentTimeout,  // at its deadline answers "forward" without moving the word
};

struct Actor {
  enum Step { kLoadVote, kSwapVote, kWait, kLoadRefusal, kSwapRefusal, kDone };
  Step step;
  std::uint32_t seen = 0;
  Verdict answer = Verdict::kUndecided;
  auto operator<=>(const Actor&) const = default;
};

struct World {
  std::uint32_t word = 0;
  std::vector<Actor> actors;  // the ranks, then the service thread
  auto operator<=>(const World&) const = default;
};

class Model {
 public:
  Model(int nranks, Fault fault) : nranks_(nranks), fault_(fault) {
    for (int refusing = 0; refusing < 1 << nranks; ++refusing) {
      World world;
      for (int rank = 0; rank < nranks; ++rank)
        world.actors.push_back({refusing >> rank & 1 ? Actor::kLoadRefusal : Actor::kLoadVote});
      world.actors.push_back({Actor::kLoadRefusal});
      visit(world);
    }
  }
  bool splits() const { return splits_; }
  bool uses_without_all_votes() const { return used_without_all_votes_; }
  bool uses() const { return uses_; }
  std::size_t worlds() const { return seen_.size(); }

 private:
  void visit(const World& world) {
    if (!seen_.insert(world).second) return;
    check(world);
    for (std::size_t i = 0; i < world.actors.size(); ++i) step(world, i);
  }

  void check(const World& world) {
    std::set<Verdict> answers;
    for (int rank = 0; rank < nranks_; ++rank) answers.insert(world.actors[rank].answer);
    answers.erase(Verdict::kUndecided);
    splits_ |= answers.size() > 1;
    const bool used = answers.contains(Verdict::kUse);
    uses_ |= used;
    const std::uint32_t all = (1u << nranks_) - 1;
    used_without_all_votes_ |= used && (world.word & all) != all;
  }

  void step(World world, std::size_t i) {
    Actor& actor = world.actors[i];
    switch (actor.step) {
      case Actor::kLoadVote:
      case Actor::kLoadRefusal:
        actor.seen = world.word;
        actor.step = actor.step == Actor::kLoadVote ? Actor::kSwapVote : Actor::kSwapRefusal;
        break;
      case Actor::kSwapVote:
        swap(&world, &actor, after_vote(actor.seen, static_cast<int>(i), nranks_), Actor::kWait);
        break;
      case Actor::kSwapRefusal:
        swap(&world, &actor, after_refusal(actor.seen), Actor::kDone);
        break;
      case Actor::kWait:
        if (verdict_of(world.word) != Verdict::kUndecided) {
          finish(&actor, world.word);
          break;
        }
        visit_timeout(world, i);
        return;
      case Actor::kDone:
        return;
    }
    visit(world);
  }

  void visit_timeout(World world, std::size_t i) {
    world.actors[i].step = Actor::kLoadRefusal;
    if (fault_ == Fault::kSilentTimeout) finish(&world.actors[i], verdict_word::kForward);
    visit(world);
  }

  void swap(World* world, Actor* actor, std::uint32_t wanted, Actor::Step then) {
    const bool blind = fault_ == Fault::kBlindRefusal && actor->step == Actor::kSwapRefusal;
    if (wanted != actor->seen && world->word != actor->seen && !blind) {
      actor->seen = world->word;  // the swap fails and says what it found
      return;
    }
    if (wanted != actor->seen) world->word = wanted;
    actor->step = then;
    if (verdict_of(wanted) != Verdict::kUndecided) finish(actor, wanted);
  }

  void finish(Actor* actor, std::uint32_t word) {
    actor->step = Actor::kDone;
    actor->answer = verdict_of(word);
  }

  const int nranks_;
  const Fault fault_;
  std::set<World> seen_;
  bool splits_ = false;
  bool used_without_all_votes_ = false;
  bool uses_ = false;
};

TEST(VerdictWord, NoInterleavingSplitsIt) {
  for (int nranks = 1; nranks <= 3; ++nranks) {
    const Model model(nranks, Fault::kNone);
    EXPECT_FALSE(model.splits()) << nranks;
    EXPECT_FALSE(model.uses_without_all_votes()) << nranks;
    EXPECT_TRUE(model.uses()) << nranks;
    EXPECT_GT(model.worlds(), 10u);
  }
}

TEST(VerdictWord, TheModelFindsSplitsOfWorseWords) {
  EXPECT_TRUE(Model(2, Fault::kBlindRefusal).splits());
  EXPECT_TRUE(Model(2, Fault::kSilentTimeout).splits());
}

std::vector<VerdictWord> words(int n) {
  OwnedFd memory;
  EXPECT_TRUE(VerdictWord::create(&memory));
  std::vector<VerdictWord> words(n);
  for (VerdictWord& word : words) EXPECT_TRUE(word.adopt(memory));
  return words;
}

Verdict answer_of(VerdictWord* word, int rank, int nranks, std::mt19937* random) {
  const auto in_a_moment = in({}) + std::chrono::microseconds((*random)() % 400);
  const bool yes = (*random)() % 8 != 0;
  for (unsigned pause = (*random)() % 200; pause > 0; --pause)
    std::atomic_signal_fence(std::memory_order_seq_cst);
  const Verdict verdict = yes ? word->vote(rank, nranks) : word->refuse();
  return verdict != Verdict::kUndecided ? verdict : word->wait(in_a_moment);
}

TEST(VerdictWord, ThousandsOfRandomDecisionsAgree) {
  constexpr int kRanks = 4, kRounds = 3000;
  std::vector<VerdictWord> shared;
  std::vector<Verdict> answers(kRanks);
  std::map<Verdict, int> count;
  std::barrier start(kRanks), end(kRanks);
  on_threads(kRanks, [&](int rank) {
    std::mt19937 random(rank);
    for (int round = 0; round < kRounds; ++round) {
      if (rank == 0) {
        shared.clear();
        shared = words(kRanks);
      }
      start.arrive_and_wait();
      answers[rank] = answer_of(&shared[rank], rank, kRanks, &random);
      end.arrive_and_wait();
      if (rank != 0) continue;
      for (const Verdict answer : answers) ASSERT_EQ(answer, answers[0]) << round;
      ++count[answers[0]];
    }
  });
  EXPECT_GT(count[Verdict::kUse], 0);
  EXPECT_GT(count[Verdict::kForward], 0);
  EXPECT_EQ(count[Verdict::kUndecided], 0);
}

TEST(VerdictWord, DeadlineInThePastForwardsAndUseIsStillSeen) {
  auto undecided = words(1);
  EXPECT_EQ(undecided[0].wait(in({})), Verdict::kForward);
  auto used = words(2);
  EXPECT_EQ(used[0].vote(0, 2), Verdict::kUndecided);
  EXPECT_EQ(used[1].vote(1, 2), Verdict::kUse);
  EXPECT_EQ(used[0].wait(in({})), Verdict::kUse);
  EXPECT_EQ(used[0].refuse(), Verdict::kUse);
}

TEST(VerdictWord, TakesOnlyMemoryThatCannotShrink) {
  OwnedFd memory(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(memory.get(), 4096), 0);
  EXPECT_FALSE(VerdictWord().adopt(memory));
  EXPECT_FALSE(VerdictWord().adopt(OwnedFd()));
  OwnedFd good;
  ASSERT_TRUE(VerdictWord::create(&good));
  EXPECT_NE(::ftruncate(good.get(), 0), 0);
}

}  // namespace
}  // namespace nccl_slab::comm
