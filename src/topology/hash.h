// FNV-1a: a hash of bytes that is the same in every process and build. Not for hostile input.
#pragma once

#include <cstdint>
#include <string_view>

namespace nccl_slab::topology {

constexpr std::uint64_t fnv1a(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
  return hash;
}

}  // namespace nccl_slab::topology
