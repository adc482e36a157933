// The examination: starts a worker for every GPU and asks them, pair by pair, one at a time.
#pragma once

#include "tool/doctor_report.h"

namespace nccl_slab::tool {

// Writes a line of progress to stderr now and then. Bounded: a GPU that does not answer is given up.
DoctorReport examine();

}  // namespace nccl_slab::tool
