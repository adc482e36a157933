// Arguments: all that a kernel gets, passed by value at the launch (and so frozen into a captured graph).
// What changes from call to call without the host (sequence numbers) lies in State, in the rank's own device
// memory.
#pragma once

#include "kernels/element.h"
#include "kernels/layout.h"
#include "kernels/program.h"
#include "kernels/two_islands.h"

namespace nccl_slab::kernels {

// How contributions are scaled before they are summed. The mode follows from the operation, so all ranks
// share it; factors of kPerRank may differ and travel with the data.
enum class Scaling : std::uint32_t { kNone, kUniform, kPerRank };

// Counters of one channel. Each has one writer (the role that produces or consumes the lane), which advances
// it when its work of a call is done: the next call, or the next replay of a graph, continues from there.
struct ChannelState {
  std::uint64_t sent[kMaxRanks][kMaxLevels];
  std::uint64_t received[kMaxRanks][kMaxLevels];
  std::uint32_t layout_id[1 + kMaxLevels];  // per role: the layout of the last call on this channel
};

inline constexpr int kMaxSmallBlocks = 64;

struct State {
  ChannelState channel[kMaxChannels];
  // Copies of one counter each, which all agree between calls: so a block needs only its own.
  // Calls of flat_push and islands_push so far.
  std::uint64_t push_sent[kMaxPushChannels], push_relayed[kMaxPushChannels], push_received[kMaxPushChannels];
  std::uint32_t small_flag[kMaxSmallBlocks];  // of the last call of flat_small or islands_small
};

// Host memory that kernels read and write while they run; one per communicator and rank.
struct Control {
  std::uint32_t abort;      // not 0: leave. Set by the host, or by a kernel whose wait ran out of time
  std::uint32_t timed_out;  // set by a kernel: 1 + the peer that did not answer
  std::uint32_t gave_up;    // set by a kernel that left because of `abort`, its work undone
  std::uint32_t reserved[13];
};

struct Arguments {
  const Program* program;  // own device memory
  State* state;            // own device memory
  Control* control;        // host memory, mapped
  // Where the mailbox of a directed pair lies, as this rank addresses it: inbound[s] holds s -> us (and s's
  // acknowledgements to us), outbound[d] holds us -> d. Peers' device memory, own device memory or pinned
  // host memory.
  char* inbound[kMaxRanks];
  char* outbound[kMaxRanks];
  Layout layout;
  TwoIslands islands;  // as this rank sees them
  std::int32_t rank;

  const char* send;
  char* receive;
  std::uint64_t shard_bytes;   // of each shard that this launch moves
  std::uint64_t stride_bytes;  // of pushes: from shard to shard in the send buffer
  std::uint32_t chunk_packs;   // <= program->longest_chunk
  std::int32_t channels;       // channels in use, 1..kMaxChannels, of pushes 1..kMaxPushChannels
  std::int32_t roles;          // of a channel: 1 + program->levels; flat_push: 1 or 2, islands_push: 1 or 3
  // Of pushes with several roles: threads of a block that send, whole warps; the others share the rest.
  std::int32_t push_senders;
  std::int32_t
      owners_in_rank_order;  // flat_push: all ranks send to the same owner at a time, not to the nearest first

  Scaling scaling;
  DataType type;
  double factor;               // of our contribution, unless factor_pointer is set
  const void* factor_pointer;  // device memory, one element of `type`
  std::uint64_t timeout_ns;    // of one wait; 0 waits for the abort word only
  std::uint32_t small_period;  // flag values of small mailboxes before they come round; even
#ifdef NCCL_SLAB_MEASUREMENT
  std::uint32_t left_out;  // stages, see left_out.h
#endif
};

// What our contribution is multiplied by; a factor in device memory is read when the kernel runs, as NCCL does.
template <typename Element>
NCCL_SLAB_DEVICE double own_factor(const Arguments& a) {
  if (a.factor_pointer == nullptr) return a.factor;
  return Element::widen(*static_cast<const typename Element::Bits*>(a.factor_pointer));
}

NCCL_SLAB_SHARED std::uint64_t shard_packs(const Arguments& a) {
  return (a.shard_bytes + kPackBytes - 1) / kPackBytes;
}

// Chunks of the shard that a channel moves: chunk c belongs to channel c % channels.
NCCL_SLAB_SHARED std::uint64_t channel_steps(const Arguments& a, int channel) {
  const std::uint64_t chunks = (shard_packs(a) + a.chunk_packs - 1) / a.chunk_packs;
  return chunks > static_cast<std::uint64_t>(channel) ? (chunks - channel - 1) / a.channels + 1 : 0;
}

NCCL_SLAB_SHARED std::uint64_t* ready_flag(char* part, int source, int channel, int lane) {
  return &(reinterpret_cast<Flag*>(part + kReadyOffset) + flag_index(source, channel, lane))->value;
}
NCCL_SLAB_SHARED std::uint64_t* acknowledgement_flag(char* part, int consumer, int channel, int lane) {
  return &(reinterpret_cast<Flag*>(part + kAcknowledgementOffset) + flag_index(consumer, channel, lane))
              ->value;
}
NCCL_SLAB_SHARED std::uint64_t* push_flag(char* part, int parity, int channel, int source) {
  return reinterpret_cast<std::uint64_t*>(part + kPushFlagOffset) +
         (parity * kMaxPushChannels + channel) * kMaxRanks + source;
}
NCCL_SLAB_SHARED double* push_factor(char* part, int parity, int channel, int source) {
  return reinterpret_cast<double*>(part + kPushFactorOffset) +
         (parity * kMaxPushChannels + channel) * kMaxRanks + source;
}
NCCL_SLAB_SHARED double* slot_factor(char* part, int source, int channel, int lane, std::uint64_t sequence) {
  return reinterpret_cast<double*>(part + kScaleOffset) + flag_index(source, channel, lane) * kSlots +
         (sequence - 1) % kSlots;
}

}  // namespace nccl_slab::kernels
