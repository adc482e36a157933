// Machine files: where they are looked for and how their lines are read (format: doc/emulated-machine.md).
// Thread-safe: functions of their arguments, the environment and the file system.
#pragma once

#include <string>

#include "base/status.h"
#include "device/emulated/machine.h"

namespace nccl_slab::emulated {

// Reads the text of a machine file. `origin` names it in complaints ("FILE:LINE: what is wrong").
Status parse_machine(const std::string& text, const std::string& origin, Machine* machine);

// The file for NCCL_SLAB_MACHINE's value: a path if it has a slash, else NAME.machine in
// NCCL_SLAB_MACHINE_PATH (folders joined by colons) and then in the folder that is installed beside this
// library.
Status find_machine(const std::string& name, std::string* path);

// The machine that the environment selects, with the lines of NCCL_SLAB_MACHINE_FAULTS (joined by semicolons)
// appended.
Status load_machine(Machine* machine);

}  // namespace nccl_slab::emulated
