#include "comm/meeting_record.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <type_traits>
#include <utility>

namespace nccl_slab::comm {
namespace {

constexpr std::uint32_t kMagic = 0x62616c73;  // "slab"
constexpr std::size_t kPartBytes = kFrameBytes - sizeof(Part);

// Padding would send bytes of our stack and make comparisons of records meaningless.
static_assert(std::has_unique_object_representations_v<Hello> &&
              std::has_unique_object_representations_v<Part> &&
              std::has_unique_object_representations_v<Goodbye> &&
              std::has_unique_object_representations_v<ExitNotice>);

template <typename Record>
Record make_record() {
  Record record{};
  record.head = {kMagic, Record::kKind};
  return record;
}

template <typename Record>
Frame frame_with(const Record& record, std::size_t payload = 0) {
  Frame frame;
  frame.bytes.resize(sizeof(Record) + payload);
  std::memcpy(frame.bytes.data(), &record, sizeof(Record));
  return frame;
}

template <typename Record>
std::optional<Record> record_in(const Frame& frame) {
  Record record{};
  if (frame.bytes.size() < sizeof(Record)) return std::nullopt;
  std::memcpy(&record, frame.bytes.data(), sizeof(Record));
  if (record.head.magic != kMagic || record.head.kind != Record::kKind) return std::nullopt;
  return record;
}

template <typename Record>
std::optional<Record> exact_record_in(const Frame& frame) {
  return frame.bytes.size() == sizeof(Record) ? record_in<Record>(frame) : std::nullopt;
}

}  // namespace

Hello make_hello(const MeetingName& name, int rank, int nranks) {
  Hello hello = make_record<Hello>();
  std::copy(name.id.begin(), name.id.end(), hello.id);
  hello.position = name.position;
  hello.rank = rank;
  hello.nranks = nranks;
  std::strncpy(hello.library, NCCL_SLAB_VERSION, sizeof(hello.library) - 1);
  return hello;
}

Goodbye make_goodbye(std::uint64_t operations) {
  Goodbye goodbye = make_record<Goodbye>();
  goodbye.operations = operations;
  return goodbye;
}

ExitNotice make_exit_notice() {
  return make_record<ExitNotice>();
}

Frame frame_of(const Hello& hello) {
  return frame_with(hello);
}
Frame frame_of(const Goodbye& goodbye) {
  return frame_with(goodbye);
}
Frame frame_of(const ExitNotice& notice) {
  return frame_with(notice);
}

std::vector<std::shared_ptr<const Frame>> frames_of(std::uint32_t stage, Contribution contribution) {
  std::vector<std::shared_ptr<const Frame>> frames;
  Part part = make_record<Part>();
  part.stage = stage;
  part.bytes = static_cast<std::uint32_t>(contribution.bytes.size());
  part.descriptors = static_cast<std::uint32_t>(contribution.descriptors.size());
  auto descriptor = contribution.descriptors.begin();
  do {
    const std::size_t payload = std::min(contribution.bytes.size() - part.bytes_before, kPartBytes);
    Frame frame = frame_with(part, payload);
    std::copy_n(contribution.bytes.begin() + part.bytes_before, payload, frame.bytes.begin() + sizeof(Part));
    const std::ptrdiff_t left = contribution.descriptors.end() - descriptor;
    const auto end = descriptor + std::min<std::ptrdiff_t>(left, kFrameDescriptors);
    std::move(std::exchange(descriptor, end), end, std::back_inserter(frame.descriptors));
    frames.push_back(std::make_shared<const Frame>(std::move(frame)));
    part.bytes_before += static_cast<std::uint32_t>(payload);
  } while (part.bytes_before < part.bytes || descriptor != contribution.descriptors.end());
  return frames;
}

std::optional<Hello> hello_in(const Frame& frame) {
  return exact_record_in<Hello>(frame);
}
std::optional<Goodbye> goodbye_in(const Frame& frame) {
  return exact_record_in<Goodbye>(frame);
}
std::optional<ExitNotice> exit_notice_in(const Frame& frame) {
  return exact_record_in<ExitNotice>(frame);
}

bool Assembler::add(Frame frame) {
  const std::optional<Part> part = record_in<Part>(frame);
  if (!part || complete_ || part->stage != stage_ || part->bytes_before != contribution_.bytes.size())
    return false;
  if (part->bytes > kContributionBytes || part->descriptors > kContributionDescriptors) return false;
  auto& [bytes, descriptors] = contribution_;
  bytes.insert(bytes.end(), frame.bytes.begin() + sizeof(Part), frame.bytes.end());
  std::move(frame.descriptors.begin(), frame.descriptors.end(), std::back_inserter(descriptors));
  complete_ = bytes.size() == part->bytes && descriptors.size() == part->descriptors;
  return bytes.size() <= part->bytes && descriptors.size() <= part->descriptors;
}

Contribution Assembler::take() {
  complete_ = false;
  ++stage_;
  return std::exchange(contribution_, {});
}

}  // namespace nccl_slab::comm
