// Exchange: the send and receive buffers of one collective call on one rank, filled with a pattern, and the
// comparison of what came out with what every rank can compute. Thread safety: none; belongs to its rank.
#pragma once

#include <functional>

#include "device_buffer.h"
#include "pattern.h"
#include "suite.h"

namespace programs {

class Exchange {
 public:
  // The receive buffer holds `received` elements, poisoned. In place it is the part of the send buffer that
  // begins there.
  struct Shape {
    const NumberType* type;
    size_t sent;
    size_t received;
    size_t shift = 0;  // elements by which both buffers miss the allocation's alignment
    bool in_place = false;
    size_t in_place_at = 0;
    Values values = whole_value;
  };

  Exchange(Suite& suite, const Shape& shape);
  // The usual one: `count` elements per shard.
  static Shape reduce_scatter_shape(const Suite& suite, const NumberType& type, size_t count);

  // New inputs, poisoned output. Waits for the device.
  void fill(uint64_t seed);
  void reduce_scatter(ncclComm_t comm, cudaStream_t stream, ncclRedOp_t op = ncclSum);

  // Compares every received element with expected(i), within tolerance(i) if given; also the guards, and that
  // the rest of the send buffer is as it was. The caller has waited for the stream.
  using Expected = std::function<double(size_t)>;
  void check(const std::string& where, const Expected& expected, const Expected& tolerance = {});
  // The sum over all ranks, exactly.
  void check_reduce_scatter(const std::string& where);
  // Nothing has been written yet.
  void check_untouched(const std::string& where);

  const void* send() const { return send_.data(); }
  void* receive() const { return shape_.in_place ? send_.at(in_place_byte()) : receive_.data(); }
  size_t count() const { return shape_.received; }
  const NumberType& type() const { return *shape_.type; }
  double sent_by(int rank, size_t index) const { return shape_.values(*shape_.type, seed_, rank, index); }
  std::vector<unsigned char> received() const;

 private:
  size_t in_place_byte() const { return shape_.in_place_at * shape_.type->bytes; }
  bool is_send_intact() const;

  Suite& suite_;
  Shape shape_;
  uint64_t seed_ = 0;
  std::vector<unsigned char> sent_;
  DeviceBuffer send_;
  DeviceBuffer receive_;
};

// A reduce-scatter of that many elements with fresh whole numbers, from fill to check.
void checked_reduce_scatter(Suite& suite, const std::string& where, const NumberType& type, size_t count,
                            ncclComm_t comm, cudaStream_t stream);

}  // namespace programs
