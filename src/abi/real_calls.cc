#include "abi/real_calls.h"

#include <map>
#include <memory>
#include <mutex>

#include "abi/origin.h"

namespace nccl_slab::abi {
namespace {

class RealCalls final : public call::RealNccl {
 public:
  explicit RealCalls(const Functions& functions) : real_(functions) {}

  ncclResult_t reduce_scatter(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                              ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream) const override {
    return call_real(real_.ncclReduceScatter, send, receive, count, type, operation, comm, stream);
  }
  ncclResult_t group_start() const override { return call_real(real_.ncclGroupStart); }
  ncclResult_t group_end() const override { return call_real(real_.ncclGroupEnd); }
  ncclResult_t async_error(ncclComm_t comm) const override {
    ncclResult_t state = ncclSuccess;
    const ncclResult_t asked = call_real(real_.ncclCommGetAsyncError, comm, &state);
    return asked == ncclSuccess ? state : asked;
  }

 private:
  const Functions& real_;
};

}  // namespace

const call::RealNccl* real_calls(const Library& library) {
  static auto* mutex = new std::mutex;  // never destroyed, as the objects
  static auto* known = new std::map<const Library*, std::unique_ptr<RealCalls>>;
  const std::lock_guard lock(*mutex);
  auto& calls = (*known)[&library];
  if (calls == nullptr) calls = std::make_unique<RealCalls>(library.functions);
  return calls.get();
}

}  // namespace nccl_slab::abi
