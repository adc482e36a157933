#include "abi/group.h"

#include <iterator>
#include <utility>

namespace nccl_slab::abi {

void Group::add(std::vector<Birth> births) {
  births_.insert(births_.end(), std::make_move_iterator(births.begin()),
                 std::make_move_iterator(births.end()));
}

Group& group() {
  static thread_local Group instance;
  return instance;
}

}  // namespace nccl_slab::abi
