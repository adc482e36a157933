// Reason: why a call, or every call of a communicator, goes to the real NCCL. One word (statistics, JSON) and
// one sentence (log, explain) each. A new refusal gets a row here and a test.
#pragma once

#include <cstdint>

namespace nccl_slab {

#define NCCL_SLAB_REASONS(ROW)                                                                              \
  ROW(none, "the slab serves this call")                                                                    \
  ROW(missing_rank,                                                                                         \
      "a rank runs without nccl-slab, has it switched off, or is on another host or namespace")             \
  ROW(unnamed,                                                                                              \
      "its ranks cannot derive a name for it alike (NCCL_COMM_ID, ncclCommGrow, or a parent of that kind)") \
  ROW(one_rank, "the communicator has one rank")                                                            \
  ROW(too_many_ranks, "the communicator has more ranks than the slab supports (8)")                         \
  ROW(unknown_gpu, "a rank cannot ask CUDA about its GPU")                                                  \
  ROW(other_host, "the ranks are on more than one host")                                                    \
  ROW(other_user, "the ranks run as different users")                                                       \
  ROW(other_version, "the ranks load different versions of nccl-slab")                                      \
  ROW(settings_differ, "the ranks have different NCCL_SLAB settings")                                       \
  ROW(nvlink, "GPUs of the communicator are joined by NVLink")                                              \
  ROW(same_gpu, "two ranks share one GPU")                                                                  \
  ROW(mig, "a rank runs on a MIG instance or in confidential mode")                                         \
  ROW(blocking_launches, "CUDA_LAUNCH_BLOCKING is set, and ranks of one process would wait for each other") \
  ROW(no_kernel, "a rank's GPU architecture has no kernel in this build")                                   \
  ROW(no_transport, "a pair of ranks has neither peer access nor host memory that both may use")            \
  ROW(setup_failed, "setting up the slab failed on a rank")                                                 \
  ROW(setup_timeout, "setting up the slab took longer than NCCL_SLAB_SETUP_TIMEOUT")                        \
  ROW(self_test_failed, "the self-test found a pair of ranks whose writes do not arrive")                   \
  ROW(verification_failed, "a call that was verified (NCCL_SLAB_VERIFY) differed from NCCL's result")       \
  ROW(datatype, "the data type is none of bf16, fp16 and fp32")                                             \
  ROW(operation, "the operation is none of sum, avg and pre-multiplied sum")                                \
  ROW(operation_setting, "NCCL_SLAB_OPS leaves this operation to NCCL")                                     \
  ROW(empty, "the call moves no data")                                                                      \
  ROW(too_large, "the buffers would not fit an address space")                                              \
  ROW(ended, "the communicator was finalized, aborted or revoked")

enum class Reason : std::uint32_t {
#define NCCL_SLAB_ROW(word, sentence) word,
  NCCL_SLAB_REASONS(NCCL_SLAB_ROW)
#undef NCCL_SLAB_ROW
};

inline constexpr int kReasonCount = 0
#define NCCL_SLAB_ROW(word, sentence) +1
    NCCL_SLAB_REASONS(NCCL_SLAB_ROW)
#undef NCCL_SLAB_ROW
    ;

// The word, e.g. "same_gpu". Any value is accepted; unknown ones answer "unknown".
const char* reason_word(Reason reason);
// The sentence that explains it to a user.
const char* reason_sentence(Reason reason);

}  // namespace nccl_slab
