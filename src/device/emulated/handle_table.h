// HandleTable: the objects behind CUDA's opaque handles. A handle is a number that is never given out twice,
// so the use of a destroyed object is noticed instead of hitting a newer one. REQUIRES LOCK (the engine's)
// for everything.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

namespace nccl_slab::emulated {

// The next handle value; shared by all tables, so that an event is never mistaken for a stream.
std::uintptr_t next_handle();

template <class Object, class Handle>
class HandleTable {
 public:
  Handle add(std::shared_ptr<Object> object) {
    const std::uintptr_t value = next_handle();
    object->handle = reinterpret_cast<Handle>(value);
    objects_.emplace(value, std::move(object));
    return reinterpret_cast<Handle>(value);
  }
  // Null when the handle is unknown or its object destroyed.
  std::shared_ptr<Object> find(Handle handle) const {
    const auto found = objects_.find(reinterpret_cast<std::uintptr_t>(handle));
    return found == objects_.end() ? nullptr : found->second;
  }
  void remove(Handle handle) { objects_.erase(reinterpret_cast<std::uintptr_t>(handle)); }

 private:
  std::unordered_map<std::uintptr_t, std::shared_ptr<Object>> objects_;
};

}  // namespace nccl_slab::emulated
