// DeviceBuffer: device memory between two guards, so that a write outside is noticed, and poison, so that a
// missing write is. Uses nothing but cudaMalloc and cudaMemcpy. Thread safety: none; belongs to the device
// current when it was made.
#pragma once

#include <cstddef>
#include <vector>

namespace programs {

class DeviceBuffer {
 public:
  // `shift` bytes move the data away from the allocation's alignment.
  explicit DeviceBuffer(size_t bytes, size_t shift = 0);
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  ~DeviceBuffer();

  void* data() const { return base_ + kGuardBytes + shift_; }
  void* at(size_t byte) const { return static_cast<unsigned char*>(data()) + byte; }
  size_t bytes() const { return bytes_; }

  void upload(const std::vector<unsigned char>& content, size_t at_byte = 0);
  std::vector<unsigned char> download() const;
  // Fills the data with bytes of kPoison: a NaN in every floating-point type, a value no test expects in the
  // others.
  void poison();
  bool guards_intact() const;

  static constexpr unsigned char kPoison = 0xff;

 private:
  static constexpr size_t kGuardBytes = 256;
  static constexpr unsigned char kGuard = 0xc3;

  bool is_guard(size_t first, size_t count) const;

  unsigned char* base_ = nullptr;
  size_t bytes_;
  size_t shift_;
};

}  // namespace programs
