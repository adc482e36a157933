// A stand-in for the engine (src/comm, src/call) behind the exports: it does nothing but write down what it
// was asked, in order, and answers as a test told it to (fake_engine.h). One process, one thread at a time.
#include "fake_engine.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "abi/counters.h"
#include "call/reduce_scatter.h"
#include "comm/creation.h"

namespace nccl_slab {
namespace {

struct Fake {
  std::string log;
  std::string answer;  // what fake_engine_take_log() returned last
  std::map<ncclComm_t, std::shared_ptr<comm::Communicator>> communicators;
  Reason verdict = Reason::none;
  bool settles_at_once = true;
  bool throws = false;
  ncclResult_t async_error = ncclSuccess;
  ncclResult_t launch_answer = ncclSuccess;
};

Fake& fake() {
  static auto* instance = new Fake();
  return *instance;
}

void write_down(const std::string& event) {
  if (fake().throws) throw std::bad_alloc();
  fake().log += event + ";";
}

}  // namespace

namespace comm {

MeetingName name_of(std::span<const std::byte> bytes, int positions, int position) {
  MeetingName name;
  for (const std::byte byte : bytes) name.id[0] = name.id[0] * 31 + static_cast<unsigned char>(byte);
  name.positions = positions;
  name.position = position;
  return name;
}

MeetingName MeetingName::from_unique_ids(std::span<const std::byte> ids, int nranks, int rank) {
  return name_of(ids, nranks, rank);
}
MeetingName MeetingName::from_parent(const MeetingName&, int parent_rank, int parent_nranks,
                                     std::string_view kind, std::uint64_t counter,
                                     std::span<const std::byte> detail) {
  write_down(std::string(kind) + " #" + std::to_string(counter) + " of " + std::to_string(detail.size()) +
             " bytes");
  return name_of(detail, parent_nranks, parent_rank);
}

class Engine {};

struct Communicator::State {
  bool settled = false;
  Reason reason = Reason::none;
  std::uint64_t children = 0;
};

Communicator::Communicator(ncclComm_t real, const MeetingName& name, int rank, int nranks, int device)
    : real_(real), name_(name), rank_(rank), nranks_(nranks), device_(device), state_(new State()) {}
Communicator::~Communicator() = default;
bool Communicator::settled() const {
  return state_->settled;
}
void Communicator::wait_settled() const {
  if (state_->settled) return;
  write_down("wait");
  state_->settled = true;
}
bool Communicator::verifies_calls() const {
  return false;
}
Reason Communicator::verdict() const {
  if (!state_->settled) return Reason::setup_timeout;
  return state_->reason == Reason::none ? fake().verdict : state_->reason;
}
std::uint64_t Communicator::next_child(const char*) {
  return state_->children++;
}
void Communicator::take_back_child(const char*) {
  --state_->children;
}
ncclResult_t Communicator::async_error() const {
  return fake().async_error;
}
void Communicator::abort() {
  write_down("abort");
}
void Communicator::end() {
  write_down("end");
}
void Communicator::settle(Reason reason, std::shared_ptr<Engine>) {
  state_->settled = true;
  state_->reason = reason;
}
struct Creation::State {
  MeetingName name;
  bool begun = false;
};
Creation::Creation(const MeetingName& name) : state_(new State{name}) {}
std::unique_ptr<Creation> Creation::enter(const MeetingName& name) {
  write_down("enter " + std::to_string(name.position) + "/" + std::to_string(name.positions));
  return std::unique_ptr<Creation>(new Creation(name));
}
Creation::~Creation() {
  if (!state_->begun) fake().log += "leave;";
}
std::shared_ptr<Communicator> Creation::begin(ncclComm_t real, int rank, int nranks, int device) {
  state_->begun = true;
  write_down("begin " + std::to_string(rank) + "/" + std::to_string(nranks) + " on " +
             std::to_string(device));
  auto communicator = std::make_shared<Communicator>(real, state_->name, rank, nranks, device);
  if (fake().settles_at_once) communicator->settle(Reason::none, nullptr);
  fake().communicators[real] = communicator;
  return communicator;
}
std::shared_ptr<Communicator> Creation::unnamed(ncclComm_t real, int rank, int nranks, int device) {
  write_down("unnamed " + std::to_string(rank) + "/" + std::to_string(nranks));
  auto communicator = std::make_shared<Communicator>(real, MeetingName{}, rank, nranks, device);
  communicator->settle(Reason::unnamed, nullptr);
  return communicator;
}

}  // namespace comm

namespace call {
namespace {

std::string shape(const Request& request) {
  std::string text = std::to_string(request.count);
  if (request.scale.kind == Scale::Kind::kHost)
    text += " times " + std::to_string(request.scale.value).substr(0, 4);
  if (request.scale.kind == Scale::Kind::kDevice) text += " times device";
  return text;
}

}  // namespace

std::size_t type_bytes(ncclDataType_t) {
  return 4;
}
Reason verdict(const comm::Communicator& communicator, const Request& request) {
  return request.count == 0 ? Reason::empty : communicator.verdict();
}
// Streams with odd numbers are captured.
bool captured_alike(cudaStream_t one, cudaStream_t other) {
  return reinterpret_cast<std::uintptr_t>(one) % 2 == reinterpret_cast<std::uintptr_t>(other) % 2;
}
ncclResult_t launch(const Queued& queued) {
  write_down("launch " + shape(queued.request));
  return fake().launch_answer;
}
ncclResult_t launch_group(const std::vector<Queued>& requests) {
  std::string event = "launch group";
  for (const Queued& queued : requests) event += " " + shape(queued.request);
  write_down(event);
  return fake().launch_answer;
}
void count_forward(comm::Communicator&, const Request&, Reason reason) {
  write_down(std::string("forward ") + reason_word(reason));
}

bool planned_words(const comm::Communicator& communicator, std::size_t bytes, ncclDataType_t,
                   PlanWords* words) {
  *words = {"key", "plan of " + std::to_string(bytes)};
  return communicator.verdict() == Reason::none;
}
bool force_plan(const comm::Communicator&, const std::string& text) {
  write_down("force " + text);
  return text != "no plan";
}

}  // namespace call

namespace abi {

void read_counters(const comm::Communicator&, nccl_slab_counters* counters) {
  counters->slab_calls = 1;
  counters->slab_bytes = 2;
  counters->forwarded_calls = 3;
  counters->forwarded_bytes = 4;
}

}  // namespace abi
}  // namespace nccl_slab

using nccl_slab::fake;

const char* nccl_slab_fake_take_log() {
  fake().answer = std::exchange(fake().log, "");
  return fake().answer.c_str();
}
void nccl_slab_fake_verdict(int reason) {
  fake().verdict = static_cast<nccl_slab::Reason>(reason);
}
void nccl_slab_fake_settles(int at_once) {
  fake().settles_at_once = at_once != 0;
}
void nccl_slab_fake_settle_all() {
  for (auto& [comm, communicator] : fake().communicators)
    communicator->settle(nccl_slab::Reason::none, nullptr);
}
void nccl_slab_fake_throws(int on) {
  fake().throws = on != 0;
}
void nccl_slab_fake_async_error(int error) {
  fake().async_error = static_cast<ncclResult_t>(error);
}
void nccl_slab_fake_launch_answer(int answer) {
  fake().launch_answer = static_cast<ncclResult_t>(answer);
}
