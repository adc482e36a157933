// Search: which real NCCL a caller's call should go to. Thread-safe; repeated calls find the same copy.
#pragma once

#include "abi/library.h"

namespace nccl_slab::abi {

// The copy for a call from the code at `caller`:
//   1. NCCL_SLAB_NCCL_LIB, if set;
//   2. in the preload: the copy that the caller would have reached without us (the program's scope, then the
//   scope of
//      the module that called);
//   3. a copy that is loaded already, in the order of loading;
//   4. the files of places.h.
// Never this library, nor another one of nccl-slab: such a one is asked for the copy that it serves. Never
// null: when there is none it says so once, with the places looked at, and answers absent_library().
const Library* search_library(const void* caller);

// The one copy that the drop-in serves in this process, whoever calls; absent_library() until one is found.
const Library* served_library();

}  // namespace nccl_slab::abi
