#include "call/verification.h"

#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <thread>

#include "base/log.h"
#include "call/comparison.h"
#include "call/operation.h"
#include "call/real_nccl.h"
#include "comm/engine.h"
#include "comm/quiet_thread.h"
#include "comm/statistics.h"
#include "device/capture.h"
#include "device/guards.h"

namespace nccl_slab::call {
namespace {

using device::cuda_status;
using std::chrono::steady_clock;

// How long a rank waits for the others to come to the same call, and for NCCL. Ranks may load data or compile
// for minutes before their first call; whoever waits in vain gets an error.
constexpr auto kPatience = std::chrono::minutes(10);

// Memory in stream order.
class Scratch {
 public:
  ~Scratch() {
    if (memory_ != nullptr) (void)cudaFreeAsync(memory_, stream_);
  }
  Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  Status allocate(std::size_t bytes, cudaStream_t stream) {
    stream_ = stream;
    return cuda_status(cudaMallocAsync(&memory_, bytes, stream), "memory to verify a call");
  }
  void* get() const { return memory_; }

 private:
  void* memory_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

// What a rank tells the others: whether it takes part, then whether it agrees.
enum class Answer : char { kNo = 0, kYes = 1 };

// One rank's part of a verified call.
class VerifiedCall {
 public:
  explicit VerifiedCall(const Queued& queued)
      : communicator_(*queued.communicator),
        request_(queued.request),
        engine_(queued.communicator->engine()),
        operation_(describe(request_, communicator_.nranks())) {}

  bool has_engine() const { return engine_ != nullptr; }
  bool same_on_all() const { return all_yes_; }

  // Whether this rank can compare; takes the magnitudes of what it sends.
  void prepare() {
    const device::RelaxedCapture relaxed;
    const device::DeviceGuard guard(communicator_.device());
    const Status ready = open();
    mine_ = ready ? Answer::kYes : Answer::kNo;
    if (!ready) NCCL_SLAB_INFO("a call is not verified: %s", ready.what().c_str());
  }

  Status tell() {
    comm::Contribution contribution;
    contribution.bytes.assign(1, static_cast<std::byte>(mine_));
    std::vector<comm::Contribution> all;
    const Status status =
        engine_->meeting().all_gather(std::move(contribution), steady_clock::now() + kPatience, &all);
    all_yes_ = static_cast<bool>(status);
    for (const comm::Contribution& each : all)
      all_yes_ &= each.bytes.size() == 1 && each.bytes[0] == static_cast<std::byte>(Answer::kYes);
    return status;
  }

  ncclResult_t issue_to_nccl() const {
    const ncclResult_t result =
        request_.real->reduce_scatter(request_.send, reference_.get(), request_.count, request_.type,
                                      request_.operation, communicator_.real(), request_.stream);
    if (result != ncclSuccess && result != ncclInProgress) return result;
    return request_.real->reduce_scatter(magnitudes_.get(), sums_.get(), request_.count, ncclFloat32, ncclSum,
                                         communicator_.real(), request_.stream);
  }

  // Non-blocking communicators take their time to issue.
  ncclResult_t issued() const {
    const auto deadline = steady_clock::now() + kPatience;
    for (;;) {
      const ncclResult_t state = request_.real->async_error(communicator_.real());
      if (state != ncclInProgress) return state;
      if (steady_clock::now() > deadline) return ncclInternalError;
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

  ncclResult_t issue_to_slab() { return launch_unverified(communicator_, request_); }

  // Waits for both results and compares.
  Status compare() {
    const device::RelaxedCapture relaxed;
    const device::DeviceGuard guard(communicator_.device());
    mine_ = Answer::kNo;
    if (const Status status = drain(); !status) return status;
    const std::size_t bytes = operation_.shard_bytes;
    std::vector<char> reference(bytes), result(bytes);
    std::vector<float> sums(request_.count);
    if (const Status status = fetch(reference.data(), reference_.get(), bytes); !status) return status;
    if (const Status status = fetch(result.data(), request_.receive, bytes); !status) return status;
    if (const Status status = fetch(sums.data(), sums_.get(), sums.size() * sizeof(float)); !status)
      return status;
    const std::size_t at = first_difference(operation_.type, reference.data(), result.data(), sums.data(),
                                            request_.count, communicator_.nranks());
    if (at == request_.count)
      mine_ = Answer::kYes;
    else
      warn(at, element_value(operation_.type, result.data(), at),
           element_value(operation_.type, reference.data(), at));
    return Status::ok();
  }

  // After tell(): counts, or leaves the communicator to NCCL, with NCCL's result.
  Status settle() {
    communicator_.statistics().verified.add(operation_.shard_bytes);
    if (all_yes_) return Status::ok();
    const device::DeviceGuard guard(communicator_.device());
    NCCL_SLAB_INFO("rank %d of %d: a verified call differed: NCCL serves this communicator from now on",
                   communicator_.rank(), communicator_.nranks());
    communicator_.forward_from_now_on(Reason::verification_failed);
    const cudaError_t copied = cudaMemcpyAsync(request_.receive, reference_.get(), operation_.shard_bytes,
                                               cudaMemcpyDefault, request_.stream);
    return cuda_status(copied, "copying NCCL's result");
  }

  void count_unverified() { communicator_.statistics().unverified.add(operation_.shard_bytes); }

 private:
  Status open() {
    device::CaptureState capture;
    if (const Status status = device::capture_state(request_.stream, &capture); !status) return status;
    if (capture.capturing) return Status::error("it is captured");
    const std::size_t count = request_.count, all = count * static_cast<std::size_t>(communicator_.nranks());
    if (const Status status = reference_.allocate(operation_.shard_bytes, request_.stream); !status)
      return status;
    if (const Status status = sums_.allocate(count * sizeof(float), request_.stream); !status) return status;
    if (const Status status = magnitudes_.allocate(all * sizeof(float), request_.stream); !status)
      return status;
    return upload_magnitudes(all);
  }

  Status upload_magnitudes(std::size_t count) {
    std::vector<char> sent(count * kernels::element_bytes(operation_.type));
    std::vector<float> magnitudes(count);
    double factor = operation_.factor;
    if (const Status status = fetch(sent.data(), request_.send, sent.size()); !status) return status;
    if (operation_.factor_pointer != nullptr) {
      char bits[sizeof(float)] = {};
      if (const Status status =
              fetch(bits, operation_.factor_pointer, kernels::element_bytes(operation_.type));
          !status)
        return status;
      factor = element_value(operation_.type, bits, 0);
    }
    take_magnitudes(operation_.type, sent.data(), count, factor, magnitudes.data());
    const cudaError_t copied = cudaMemcpyAsync(magnitudes_.get(), magnitudes.data(), count * sizeof(float),
                                               cudaMemcpyDefault, request_.stream);
    if (const Status status = cuda_status(copied, "copying magnitudes"); !status) return status;
    return cuda_status(cudaStreamSynchronize(request_.stream), "copying magnitudes");
  }

  Status fetch(void* to, const void* from, std::size_t bytes) const {
    const cudaError_t copied = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, request_.stream);
    if (const Status status = cuda_status(copied, "reading data to verify"); !status) return status;
    return cuda_status(cudaStreamSynchronize(request_.stream), "reading data to verify");
  }

  // Until the operation has ended on this rank; an abort makes it end.
  Status drain() {
    const auto deadline = steady_clock::now() + kPatience;
    while (cudaStreamQuery(request_.stream) == cudaErrorNotReady) {
      if (steady_clock::now() > deadline) return Status::error("a verified call does not end");
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    if (engine_->async_error() != ncclSuccess) return Status::error("a verified call was broken off");
    return Status::ok();
  }

  void warn(std::size_t at, double ours, double theirs) const {
    NCCL_SLAB_WARN(
        "rank %d of %d: element %zu of a verified reduce-scatter is %g, by NCCL %g; NCCL serves this "
        "communicator from now on",
        communicator_.rank(), communicator_.nranks(), at, ours, theirs);
  }

  comm::Communicator& communicator_;
  const Request& request_;
  const std::shared_ptr<comm::Engine> engine_;
  const comm::Operation operation_;
  Scratch reference_, magnitudes_, sums_;
  Answer mine_ = Answer::kNo;
  bool all_yes_ = false;
};

using Calls = std::vector<std::unique_ptr<VerifiedCall>>;

// The ranks of this thread need each other: each tells on a thread of its own.
Status tell_all(const Calls& calls) {
  if (calls.size() == 1) return calls[0]->tell();
  std::vector<Status> told(calls.size());
  {
    const comm::SignalsBlocked blocked;
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < calls.size(); ++i)
      threads.emplace_back([&, i] { told[i] = calls[i]->tell(); });
  }
  for (const Status& status : told)
    if (!status) return status;
  return Status::ok();
}

ncclResult_t broken(const Status& status) {
  NCCL_SLAB_WARN("verifying a call: %s", status.what().c_str());
  return ncclSystemError;
}

ncclResult_t issue_to_nccl(const RealNccl& real, const Calls& calls) {
  ncclResult_t result = real.group_start();
  for (const auto& call : calls)
    if (result == ncclSuccess || result == ncclInProgress) result = call->issue_to_nccl();
  const ncclResult_t ended = real.group_end();
  if (result == ncclSuccess || result == ncclInProgress) result = ended;
  if (result != ncclInProgress) return result;
  for (const auto& call : calls)
    if (result = call->issued(); result != ncclSuccess) return result;
  return ncclSuccess;
}

ncclResult_t issue_to_slab(const Calls& calls) {
  ncclResult_t first = ncclSuccess;
  for (const auto& call : calls)
    if (const ncclResult_t result = call->issue_to_slab(); first == ncclSuccess) first = result;
  return first;
}

ncclResult_t compare_all(const Calls& calls) {
  for (const auto& call : calls)
    if (const Status status = call->compare(); !status) return broken(status);
  if (const Status status = tell_all(calls); !status) return broken(status);
  for (const auto& call : calls)
    if (const Status status = call->settle(); !status) return broken(status);
  return ncclSuccess;
}

}  // namespace

ncclResult_t launch_by_nccl(const std::vector<const Queued*>& ranks) {
  const RealNccl& real = *ranks[0]->request.real;
  ncclResult_t result = real.group_start();
  for (const Queued* queued : ranks) {
    const Request& r = queued->request;
    count_forward(*queued->communicator, r, Reason::verification_failed);
    const ncclResult_t issued = real.reduce_scatter(r.send, r.receive, r.count, r.type, r.operation,
                                                    queued->communicator->real(), r.stream);
    if (result == ncclSuccess) result = issued;
  }
  const ncclResult_t ended = real.group_end();
  return result == ncclSuccess ? ended : result;
}

ncclResult_t launch_verified(const std::vector<const Queued*>& ranks) {
  Calls calls;
  for (const Queued* queued : ranks) {
    calls.push_back(std::make_unique<VerifiedCall>(*queued));
    if (!calls.back()->has_engine()) return ncclInvalidUsage;  // ended by another thread since the verdict
  }
  for (const auto& call : calls) call->prepare();
  if (const Status status = tell_all(calls); !status) return broken(status);
  if (!calls[0]->same_on_all()) {
    for (const auto& call : calls) call->count_unverified();
    return issue_to_slab(calls);
  }
  // NCCL first: a call in place overwrites what it reads.
  const ncclResult_t issued = issue_to_nccl(*ranks[0]->request.real, calls);
  if (issued != ncclSuccess) return issued;
  const ncclResult_t served = issue_to_slab(calls);
  return served == ncclSuccess ? compare_all(calls) : served;
}

}  // namespace nccl_slab::call
