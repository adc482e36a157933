#include "engine_ranks.h"

#include <gtest/gtest.h>

#include "comm/thread_meeting.h"

namespace nccl_slab::comm {
namespace {

void build(EngineRank& me) {
  ASSERT_EQ(cudaSetDevice(me.rank), cudaSuccess);
  ASSERT_EQ(cudaStreamCreateWithFlags(&me.stream, cudaStreamNonBlocking), cudaSuccess);
  const Status agreed = agree_on_facts(*me.meeting, me.rank, in(kLong), &me.agreement);
  ASSERT_TRUE(agreed) << agreed.what();
  ASSERT_TRUE(me.agreement.verdict.use()) << topology::sentence(me.agreement.verdict);
  topology::PairSet unmapped;
  const Status built = Engine::build(me.meeting, me.agreement, me.rank, in(kLong), &me.engine, &unmapped);
  ASSERT_TRUE(built) << built.what();
}

void run_rank(EngineRank& me, const std::function<void(EngineRank&)>& body) {
  build(me);
  if (!me.meet() || me.engine == nullptr) return;
  body(me);
  EXPECT_TRUE(eventually([&] { return me.engine->operations_finished(); })) << "kernels do not leave";
  (void)me.meet();
}

// What the service of a communicator's creation does, without a real creator.
std::shared_ptr<Meeting> meet_as_process(const MeetingName& name, int rank, int ranks,
                                         device_test::Shared& shared) {
  std::unique_ptr<SocketMeeting> meeting;
  Reason reason = Reason::none;
  const Status entered = SocketMeeting::enter(at(name, rank), &meeting);
  EXPECT_TRUE(entered) << entered.what();
  EXPECT_TRUE(shared.meet(ranks));
  if (!meeting) return nullptr;
  const Status found = meeting->find_ranks(rank, ranks, in(kLong), &reason);
  EXPECT_TRUE(found) << found.what();
  return meeting;
}

}  // namespace

bool EngineRank::meet() const {
  std::vector<Contribution> all;
  return static_cast<bool>(meeting->all_gather({}, in(kLong), &all));
}

void on_engines(const device_test::MachineChoice& machine, int ranks,
                const std::function<void(EngineRank&)>& body) {
  device_test::on_machine(machine, [&] {
    auto meetings = ThreadMeeting::make(ranks);
    std::vector<EngineRank> all(static_cast<std::size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) {
      all[rank].rank = rank;
      all[rank].ranks = ranks;
      all[rank].meeting = std::move(meetings[rank]);
    }
    on_threads(ranks, [&](int rank) { run_rank(all[rank], body); });
  });
}

void on_engine_processes(const device_test::MachineChoice& machine, int ranks,
                         const std::function<void(EngineRank&)>& body) {
  const MeetingName name = fresh_name(ranks);
  device_test::on_ranks(machine, ranks, [&](int rank, device_test::Shared& shared) {
    EngineRank me;
    me.rank = rank;
    me.ranks = ranks;
    me.meeting = meet_as_process(name, rank, ranks, shared);
    if (me.meeting) run_rank(me, body);
  });
}

EngineCall::EngineCall(const EngineRank& rank, std::uint64_t count)
    : rank_(rank.rank), ranks_(rank.ranks), count_(count) {
  EXPECT_TRUE(device::PooledMemory::on_device(count * ranks_ * sizeof(float), rank.stream, &send_));
  EXPECT_TRUE(device::PooledMemory::on_device(count * sizeof(float), rank.stream, &receive_));
}

void EngineCall::fill(unsigned seed) {
  std::vector<float> values(count_ * ranks_);
  for (std::uint64_t e = 0; e < values.size(); ++e)
    values[e] = static_cast<float>((rank_ + 1) * (1 + (seed + e) % 50));
  EXPECT_EQ(cudaMemcpy(send_.get(), values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice),
            cudaSuccess);
  EXPECT_EQ(cudaMemset(receive_.get(), 0xff, count_ * sizeof(float)), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

Operation EngineCall::operation(kernels::Kernel kernel, TreeKind tree) const {
  Operation operation;
  operation.plan.kernel = kernel;
  operation.plan.tree = tree;
  operation.plan.units = 2;
  operation.plan.chunk_packs = 64;
  operation.send = send_.get();
  operation.receive = receive_.get();
  operation.shard_bytes = count_ * sizeof(float);
  return operation;
}

std::vector<float> EngineCall::result(cudaStream_t stream) const {
  EXPECT_TRUE(drained(stream));
  std::vector<float> values(count_);
  EXPECT_EQ(cudaMemcpy(values.data(), receive_.get(), count_ * sizeof(float), cudaMemcpyDeviceToHost),
            cudaSuccess);
  return values;
}

std::vector<float> EngineCall::expected(unsigned seed) const {
  std::vector<float> values(count_);
  for (std::uint64_t e = 0; e < count_; ++e)
    values[e] = static_cast<float>(ranks_ * (ranks_ + 1) / 2 * (1 + (seed + rank_ * count_ + e) % 50));
  return values;
}

bool drained(cudaStream_t stream) {
  return eventually([&] { return cudaStreamQuery(stream) != cudaErrorNotReady; });
}

}  // namespace nccl_slab::comm
