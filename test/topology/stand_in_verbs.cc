// A stand-in libibverbs.so.1 with two devices: mlx5_0 with two ports (InfiniBand 4x HDR; down), whose sysfs
// folder is $NCCL_SLAB_TEST_IBDEV, and broken_0, which cannot be opened.
#include <infiniband/verbs.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#undef ibv_query_port

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {
ibv_device devices[2];
ibv_context context;
}  // namespace

EXPORT ibv_device** ibv_get_device_list(int* count) {
  const char* const folder = std::getenv("NCCL_SLAB_TEST_IBDEV");
  std::snprintf(devices[0].name, sizeof devices[0].name, "mlx5_0");
  std::snprintf(devices[0].ibdev_path, sizeof devices[0].ibdev_path, "%s", folder ? folder : "/nonexistent");
  std::snprintf(devices[1].name, sizeof devices[1].name, "broken_0");
  auto** list = new ibv_device* [3] { &devices[0], &devices[1], nullptr };
  *count = 2;
  return list;
}

EXPORT void ibv_free_device_list(ibv_device** list) {
  delete[] list;
}

EXPORT ibv_context* ibv_open_device(ibv_device* device) {
  return device == &devices[0] ? &context : nullptr;
}
EXPORT int ibv_close_device(ibv_context*) {
  return 0;
}

EXPORT int ibv_query_device(ibv_context*, ibv_device_attr* attributes) {
  attributes->phys_port_cnt = 2;
  return 0;
}

EXPORT int ibv_query_port(ibv_context*, std::uint8_t port, _compat_ibv_port_attr* compatible) {
  auto* const attributes = reinterpret_cast<ibv_port_attr*>(compatible);
  if (port == 2) return EIO;
  attributes->active_speed = 64;  // HDR
  attributes->active_width = 2;   // 4x
  attributes->link_layer = IBV_LINK_LAYER_INFINIBAND;
  return 0;
}
