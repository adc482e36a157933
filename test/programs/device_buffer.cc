// See device_buffer.h. Everything here waits for the device: streams of the program need not know of these
// copies.
#include "device_buffer.h"

#include <algorithm>

#include "require.h"

namespace programs {

DeviceBuffer::DeviceBuffer(size_t bytes, size_t shift) : bytes_(bytes), shift_(shift) {
  const size_t total = bytes + shift + 2 * kGuardBytes;
  void* memory = nullptr;
  REQUIRE(cudaMalloc(&memory, total));
  base_ = static_cast<unsigned char*>(memory);
  REQUIRE(cudaMemset(base_, kGuard, total));
  REQUIRE(cudaDeviceSynchronize());
}

DeviceBuffer::~DeviceBuffer() {
  cudaFree(base_);
}

void DeviceBuffer::upload(const std::vector<unsigned char>& content, size_t at_byte) {
  if (content.empty()) return;
  REQUIRE(cudaMemcpy(at(at_byte), content.data(), content.size(), cudaMemcpyHostToDevice));
  REQUIRE(cudaDeviceSynchronize());
}

std::vector<unsigned char> DeviceBuffer::download() const {
  std::vector<unsigned char> content(bytes_);
  if (bytes_ > 0) REQUIRE(cudaMemcpy(content.data(), data(), bytes_, cudaMemcpyDeviceToHost));
  return content;
}

void DeviceBuffer::poison() {
  if (bytes_ > 0) REQUIRE(cudaMemset(data(), kPoison, bytes_));
  REQUIRE(cudaDeviceSynchronize());
}

bool DeviceBuffer::is_guard(size_t first, size_t count) const {
  std::vector<unsigned char> content(count);
  REQUIRE(cudaMemcpy(content.data(), base_ + first, count, cudaMemcpyDeviceToHost));
  return std::all_of(content.begin(), content.end(), [](unsigned char byte) { return byte == kGuard; });
}

bool DeviceBuffer::guards_intact() const {
  return is_guard(0, kGuardBytes + shift_) && is_guard(kGuardBytes + shift_ + bytes_, kGuardBytes);
}

}  // namespace programs
