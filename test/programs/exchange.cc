// See exchange.h.
#include "exchange.h"

#include <algorithm>
#include <cmath>

namespace programs {

Exchange::Exchange(Suite& suite, const Shape& shape)
    : suite_(suite),
      shape_(shape),
      send_(shape.sent * shape.type->bytes, shape.shift * shape.type->bytes),
      receive_(shape.in_place ? 0 : shape.received * shape.type->bytes, shape.shift * shape.type->bytes) {}

Exchange::Shape Exchange::reduce_scatter_shape(const Suite& suite, const NumberType& type, size_t count) {
  Shape shape{&type, count * static_cast<size_t>(suite.ranks()), count};
  shape.in_place_at = count * static_cast<size_t>(suite.rank());
  return shape;
}

void Exchange::fill(uint64_t seed) {
  seed_ = seed;
  sent_ = encoded(*shape_.type, shape_.values, seed, suite_.rank(), 0, shape_.sent);
  send_.upload(sent_);
  receive_.poison();
}

void Exchange::reduce_scatter(ncclComm_t comm, cudaStream_t stream, ncclRedOp_t op) {
  REQUIRE(ncclReduceScatter(send(), receive(), shape_.received, shape_.type->nccl, op, comm, stream));
}

std::vector<unsigned char> Exchange::received() const {
  if (!shape_.in_place) return receive_.download();
  const std::vector<unsigned char> all = send_.download();
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(in_place_byte());
  return {begin, begin + static_cast<std::ptrdiff_t>(shape_.received * shape_.type->bytes)};
}

bool Exchange::is_send_intact() const {
  std::vector<unsigned char> now = send_.download();
  if (shape_.in_place)
    std::copy_n(sent_.begin() + static_cast<std::ptrdiff_t>(in_place_byte()),
                shape_.received * shape_.type->bytes,
                now.begin() + static_cast<std::ptrdiff_t>(in_place_byte()));
  return now == sent_;
}

void Exchange::check(const std::string& where, const Expected& expected, const Expected& tolerance) {
  const std::vector<unsigned char> result = received();
  for (size_t i = 0; i < shape_.received; ++i) {
    const double got = decode(*shape_.type, &result[i * shape_.type->bytes]);
    const double want = expected(i);
    const double allowed = tolerance ? tolerance(i) : 0;
    if (std::fabs(got - want) <= allowed) continue;
    suite_.expect(false, where + ", " + shape_.type->name + ", element " + std::to_string(i) + " of " +
                             std::to_string(shape_.received) + ": " + std::to_string(got) + " instead of " +
                             std::to_string(want));
    break;
  }
  suite_.expect(send_.guards_intact() && receive_.guards_intact(), where + ": written outside the buffers");
  suite_.expect(is_send_intact(), where + ": the send buffer changed");
}

void Exchange::check_reduce_scatter(const std::string& where) {
  const size_t first = shape_.received * static_cast<size_t>(suite_.rank());
  check(where, [&](size_t i) {
    double sum = 0;
    for (int rank = 0; rank < suite_.ranks(); ++rank) sum += sent_by(rank, first + i);
    return sum;
  });
}

void Exchange::check_untouched(const std::string& where) {
  const std::vector<unsigned char> result = received();
  suite_.expect(std::all_of(result.begin(), result.end(),
                            [](unsigned char byte) { return byte == DeviceBuffer::kPoison; }),
                where + ": the output was written");
}

void checked_reduce_scatter(Suite& suite, const std::string& where, const NumberType& type, size_t count,
                            ncclComm_t comm, cudaStream_t stream) {
  Exchange exchange(suite, Exchange::reduce_scatter_shape(suite, type, count));
  exchange.fill(suite.options.seed + count);
  exchange.reduce_scatter(comm, stream);
  REQUIRE(cudaStreamSynchronize(stream));
  exchange.check_reduce_scatter(where);
}

}  // namespace programs
