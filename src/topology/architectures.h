// Which GPU architectures the kernels of this build run on. Thread safety: pure.
#pragma once

namespace nccl_slab::topology {

// `architecture` is 86 for sm_86; `built` lists those that were built, as in "75,80,86". A kernel runs on its
// own architecture and on later ones of the same generation; the newest is also embedded as PTX for all that
// come after it. An unknown architecture (0) is given the benefit of the doubt.
bool has_kernel_for(int architecture, const char* built);
// The same for this build.
bool has_kernel_for(int architecture);

}  // namespace nccl_slab::topology
