// Copies of contributions. Pure but for the descriptors, which the copy owns anew.
#pragma once

#include "comm/meeting.h"

namespace nccl_slab::comm {

Status duplicate(const Contribution& contribution, Contribution* copy);

}  // namespace nccl_slab::comm
