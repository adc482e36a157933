#include "abi/self.h"

namespace nccl_slab::abi {
const bool kDropIn = true;
}
