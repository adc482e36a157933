// See point_to_point.h.
#include "loopback/point_to_point.h"

#include <algorithm>

namespace nccl_slab::loopback {

void PointToPoint::add(const Operation& operation) {
  if (operation.count == 0) return;
  const bool sends = operation.kind == Kind::kSend;
  // A send's memory is only read; one pointer type serves both directions.
  void* memory = sends ? const_cast<void*>(operation.send) : operation.receive;
  transfers_.push_back(
      {sends, operation.peer, static_cast<std::byte*>(memory), operation.count * size_of(operation.type)});
}

bool PointToPoint::run() {
  while (!transfers_.empty())
    if (!spin_until(abort_, [this] { return advance_all(); })) return false;
  return true;
}

// True if any byte moved. Finished transfers leave the list.
bool PointToPoint::advance_all() {
  size_t moved = 0;
  for (size_t i = 0; i < transfers_.size(); ++i)
    if (is_next_of_its_pair(i)) moved += advance(transfers_[i]);
  std::erase_if(transfers_, [](const Transfer& transfer) { return transfer.left == 0; });
  return moved > 0;
}

bool PointToPoint::is_next_of_its_pair(size_t index) const {
  const Transfer& transfer = transfers_[index];
  return std::none_of(transfers_.begin(), transfers_.begin() + static_cast<std::ptrdiff_t>(index),
                      [&](const Transfer& other) {
                        return other.sends == transfer.sends && other.peer == transfer.peer && other.left > 0;
                      });
}

size_t PointToPoint::advance(Transfer& transfer) const {
  Fifo fifo = transfer.sends ? clique_.to(transfer.peer) : clique_.from(transfer.peer);
  const size_t bytes = std::min(transfer.left, transfer.sends ? fifo.room() : fifo.filled());
  if (bytes == 0) return 0;
  if (transfer.sends)
    fifo.write(transfer.next, bytes);
  else
    fifo.read(transfer.next, bytes);
  transfer.next += bytes;
  transfer.left -= bytes;
  return bytes;
}

}  // namespace nccl_slab::loopback
