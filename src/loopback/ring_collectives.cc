// See ring_collectives.h. Everything counts elements but send and receive's memory, which counts bytes.
#include "loopback/ring_collectives.h"

#include <algorithm>
#include <cstring>

namespace nccl_slab::loopback {
namespace {

constexpr size_t kPieceBytes = Clique::kRingBytes / 2;

}  // namespace

RingCollectives::RingCollectives(const Clique& clique, const Abort& abort)
    : clique_(clique),
      abort_(abort),
      out_(clique.to_next()),
      in_(clique.from_previous()),
      travelling_(kPieceBytes),
      scaled_(kPieceBytes) {}

bool RingCollectives::run(const Operation& operation) {
  operation_ = &operation;
  element_bytes_ = size_of(operation.type);
  switch (operation.kind) {
    case Kind::kReduceScatter:
      return reduce_scatter();
    case Kind::kAllReduce:
      return all_reduce();
    case Kind::kAllGather:
      return all_gather();
    case Kind::kBroadcast:
      return broadcast();
    case Kind::kReduce:
      return reduce();
    case Kind::kScale:
      scale_locally();
      return true;
    default:
      return false;
  }
}

size_t RingCollectives::Blocks::size_of(int block) const {
  const size_t start = start_of(block);
  return start < end ? std::min(length, end - start) : 0;
}

// Blocks are the shards of the send buffer.
bool RingCollectives::reduce_scatter() {
  const size_t count = operation_->count;
  const size_t total = count * static_cast<size_t>(clique_.ranks());
  for (size_t offset = 0; offset < count; offset += piece()) {
    const size_t length = std::min(piece(), count - offset);
    if (!reduce_around({offset, count, length, total})) return false;
    keep(offset, travelling_.data(), length);
  }
  return true;
}

// Every round takes n adjacent blocks: a reduce-scatter of them, then an all-gather.
bool RingCollectives::all_reduce() {
  const auto ranks = static_cast<size_t>(clique_.ranks());
  const size_t count = operation_->count;
  for (size_t offset = 0; offset < count;) {
    const size_t length = std::min(piece(), (count - offset + ranks - 1) / ranks);
    const Blocks blocks{offset, length, length, count};
    if (!reduce_around(blocks)) return false;
    keep(blocks.start_of(clique_.rank()), travelling_.data(), blocks.size_of(clique_.rank()));
    if (!gather_around(blocks)) return false;
    offset += length * ranks;
  }
  return true;
}

// Blocks are the contributions in the receive buffer.
bool RingCollectives::all_gather() {
  const size_t count = operation_->count;
  const size_t total = count * static_cast<size_t>(clique_.ranks());
  for (size_t offset = 0; offset < count; offset += piece()) {
    const Blocks blocks{offset, count, std::min(piece(), count - offset), total};
    keep(blocks.start_of(clique_.rank()), own(offset), blocks.length);
    if (!gather_around(blocks)) return false;
  }
  return true;
}

bool RingCollectives::broadcast() {
  const bool first = clique_.rank() == operation_->peer;
  const bool last = (clique_.rank() + 1) % clique_.ranks() == operation_->peer;
  for (size_t offset = 0; offset < operation_->count; offset += piece()) {
    const size_t length = std::min(piece(), operation_->count - offset);
    if (!first && !receive(travelling_.data(), length)) return false;
    const void* data = first ? own(offset) : travelling_.data();
    if (!last && !send(data, length)) return false;
    keep(offset, data, length);
  }
  return true;
}

// The chain begins behind the root and ends at it.
bool RingCollectives::reduce() {
  const bool last = clique_.rank() == operation_->peer;
  const bool first = clique_.rank() == (operation_->peer + 1) % clique_.ranks();
  for (size_t offset = 0; offset < operation_->count; offset += piece()) {
    const size_t length = std::min(piece(), operation_->count - offset);
    if (first) {
      if (!send(contribution(offset, length), length)) return false;
      continue;
    }
    if (!receive(travelling_.data(), length)) return false;
    add_own(offset, length);
    if (!last && !send(travelling_.data(), length)) return false;
    if (last) {
      finish(length);
      keep(offset, travelling_.data(), length);
    }
  }
  return true;
}

// A communicator of one rank with a PreMulSum.
void RingCollectives::scale_locally() {
  for (size_t offset = 0; offset < operation_->count; offset += piece()) {
    const size_t length = std::min(piece(), operation_->count - offset);
    keep(offset, contribution(offset, length), length);
  }
}

// Leaves the finished block of this rank in travelling_.
bool RingCollectives::reduce_around(const Blocks& blocks) {
  const int first = block_of_hop(1);
  if (!send(contribution(blocks.start_of(first), blocks.size_of(first)), blocks.size_of(first))) return false;
  for (int hop = 2; hop <= clique_.ranks(); ++hop) {
    const int block = block_of_hop(hop);
    if (!receive(travelling_.data(), blocks.size_of(block))) return false;
    add_own(blocks.start_of(block), blocks.size_of(block));
    if (hop < clique_.ranks() && !send(travelling_.data(), blocks.size_of(block))) return false;
  }
  finish(blocks.size_of(clique_.rank()));
  return true;
}

// The own block lies in the receive buffer already; the others arrive from the previous rank, the nearest
// first.
bool RingCollectives::gather_around(const Blocks& blocks) {
  const int rank = clique_.rank();
  if (!send(result(blocks.start_of(rank)), blocks.size_of(rank))) return false;
  for (int hop = 1; hop < clique_.ranks(); ++hop) {
    const int block = block_of_hop(hop);
    if (!receive(travelling_.data(), blocks.size_of(block))) return false;
    keep(blocks.start_of(block), travelling_.data(), blocks.size_of(block));
    if (hop + 1 < clique_.ranks() && !send(travelling_.data(), blocks.size_of(block))) return false;
  }
  return true;
}

bool RingCollectives::send(const void* from, size_t count) {
  const size_t bytes = count * element_bytes_;
  if (!spin_until(abort_, [&] { return out_.room() >= bytes; })) return false;
  out_.write(from, bytes);
  return true;
}

bool RingCollectives::receive(void* into, size_t count) {
  const size_t bytes = count * element_bytes_;
  if (!spin_until(abort_, [&] { return in_.filled() >= bytes; })) return false;
  in_.read(into, bytes);
  return true;
}

// What this rank puts in for these elements: its numbers, after the factor if there is one.
const void* RingCollectives::contribution(size_t element, size_t count) {
  const Reduction& reduction = operation_->reduction;
  if (!reduction.scaled) return own(element);
  const void* factor = reduction.device_factor != nullptr ? reduction.device_factor : reduction.factor.bytes;
  scale(operation_->type, scaled_.data(), own(element), factor, count);
  return scaled_.data();
}

void RingCollectives::add_own(size_t element, size_t count) {
  combine(operation_->reduction.combine, operation_->type, travelling_.data(), contribution(element, count),
          count);
}

void RingCollectives::finish(size_t count) {
  divide(operation_->type, travelling_.data(), operation_->reduction.divisor, count);
}

// In place, the data may lie there already.
void RingCollectives::keep(size_t element, const void* from, size_t count) {
  if (count > 0 && result(element) != from) std::memcpy(result(element), from, count * element_bytes_);
}

const std::byte* RingCollectives::own(size_t element) const {
  return static_cast<const std::byte*>(operation_->send) + element * element_bytes_;
}

std::byte* RingCollectives::result(size_t element) const {
  return static_cast<std::byte*>(operation_->receive) + element * element_bytes_;
}

// The block that this rank handles at that hop, counted backwards from its own; hop n is the own block.
int RingCollectives::block_of_hop(int hop) const {
  return (clique_.rank() - hop + clique_.ranks()) % clique_.ranks();
}

}  // namespace nccl_slab::loopback
