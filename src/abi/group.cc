#include "abi/group.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace nccl_slab::abi {

void Group::add(std::vector<Birth> births) {
  births_.insert(births_.end(), std::make_move_iterator(births.begin()),
                 std::make_move_iterator(births.end()));
}

// The last call on the communicator stands for all before it.
bool Group::fits(const comm::Communicator& communicator, cudaStream_t stream) const {
  const auto last = std::find_if(requests_.rbegin(), requests_.rend(), [&](const call::Queued& queued) {
    return queued.communicator.get() == &communicator;
  });
  return last == requests_.rend() || last->request.stream == stream ||
         call::captured_alike(last->request.stream, stream);
}

Group& group() {
  static thread_local Group instance;
  return instance;
}

}  // namespace nccl_slab::abi
