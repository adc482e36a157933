// Counting references to user objects.
#include "device/emulated/user_object.h"

namespace nccl_slab::emulated {

void UserObject::release(unsigned count) {
  if (references.fetch_sub(count) != count) return;
  workers->add([call = destroy, argument = pointer] { call(argument); });
}

UserReferences::UserReferences(const UserReferences& other) : held_(other.held_) {
  for (const auto& [object, count] : held_) object->retain(count);
}

UserReferences::~UserReferences() {
  for (const auto& [object, count] : held_) object->release(count);
}

void UserReferences::adopt(std::shared_ptr<UserObject> object, unsigned count) {
  held_[std::move(object)] += count;
}

bool UserReferences::release(const std::shared_ptr<UserObject>& object, unsigned count) {
  const auto found = held_.find(object);
  if (found == held_.end() || found->second < count) return false;
  found->second -= count;
  if (found->second == 0) held_.erase(found);
  object->release(count);
  return true;
}

}  // namespace nccl_slab::emulated
