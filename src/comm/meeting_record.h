// Records: what the frames of a meeting mean. Plain data in host byte order (all ranks are on one host), each
// with its exact size checked, so that a stranger's bytes are never taken for one. Pure functions, values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "comm/meeting.h"
#include "comm/meeting_frame.h"
#include "comm/meeting_name.h"

namespace nccl_slab::comm {

enum class RecordKind : std::uint32_t { kHello = 1, kPart = 2, kGoodbye = 3, kExit = 4 };

struct RecordHead {
  std::uint32_t magic;
  RecordKind kind;
};

// The first record in each direction of a connection that a lower position made. Rank 0's carries the memory
// of the verdict word.
struct Hello {
  static constexpr RecordKind kKind = RecordKind::kHello;
  RecordHead head;
  std::uint64_t id[2];  // of the MeetingName
  std::int32_t position;
  std::int32_t rank;
  std::int32_t nranks;
  char library[36];  // version of nccl-slab, zero padded
};

// A part of a contribution to all_gather; the payload follows. Descriptors travel with the parts, in order.
struct Part {
  static constexpr RecordKind kKind = RecordKind::kPart;
  RecordHead head;
  std::uint32_t stage;               // counts the all_gathers
  std::uint32_t bytes, descriptors;  // of the whole contribution
  std::uint32_t bytes_before;        // this part
};

struct Goodbye {
  static constexpr RecordKind kKind = RecordKind::kGoodbye;
  RecordHead head;
  std::uint64_t operations;
};

// The process exits in order; the end of the connection follows.
struct ExitNotice {
  static constexpr RecordKind kKind = RecordKind::kExit;
  RecordHead head;
};

inline constexpr std::size_t kContributionBytes = 1 << 20;
inline constexpr std::size_t kContributionDescriptors = 256;

Hello make_hello(const MeetingName& name, int rank, int nranks);
Frame frame_of(const Hello& hello);
Frame frame_of(const Goodbye& goodbye);
Frame frame_of(const ExitNotice& notice);
Goodbye make_goodbye(std::uint64_t operations);
ExitNotice make_exit_notice();
// At least one frame, shared by all the connections that send it.
std::vector<std::shared_ptr<const Frame>> frames_of(std::uint32_t stage, Contribution contribution);

std::optional<Hello> hello_in(const Frame& frame);
std::optional<Goodbye> goodbye_in(const Frame& frame);
std::optional<ExitNotice> exit_notice_in(const Frame& frame);

// Puts parts together again. Parts of one contribution arrive in order, since a connection keeps order.
class Assembler {
 public:
  // False if the frame is not the part that must come next.
  bool add(Frame frame);
  // Whether a contribution is complete; take() hands it out and expects the next stage.
  bool complete() const { return complete_; }
  Contribution take();

 private:
  std::uint32_t stage_ = 0;
  bool complete_ = false;
  Contribution contribution_;
};

}  // namespace nccl_slab::comm
