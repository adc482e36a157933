// What the doctor reads of the host, from files and limits: no CUDA. Missing facts stay unknown.
#pragma once

#include <string>

#include "tool/doctor_report.h"

namespace nccl_slab::tool {

// `root` goes before /sys, /proc and /dev; for tests.
HostReport read_host(const std::string& root = "");
// Bytes of the aperture through which peers reach a GPU (BAR1); 0: unknown.
std::uint64_t bar1_bytes(const std::string& pci, const std::string& root = "");

}  // namespace nccl_slab::tool
