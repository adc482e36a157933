#include "tool/doctor.h"

#include <dlfcn.h>

#include <cstdio>

#include "tool/doctor_probe.h"
#include "tool/wrong_usage.h"

namespace nccl_slab::tool {

namespace {

// The emulated machine is asked about its paths by name, which must be visible to the workers too.
void open_emulated_machine() {
  for (const char* name : {"libcudart.so.13", "libcudart.so.12"})
    if (::dlopen(name, RTLD_LAZY | RTLD_GLOBAL) != nullptr) return;
}

}  // namespace

int doctor_command(int argc, char** argv) {
  bool json = false;
  if (const Status status = parse_json_option(argc, argv, &json); !status)
    return wrong_usage(kDoctorUsage, status);
  if (NCCL_SLAB_IS_EMULATED) open_emulated_machine();
  const DoctorReport report = examine();
  const std::string text = json ? as_json(report) : as_text(report);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return is_healthy(report) ? 0 : 1;
}

}  // namespace nccl_slab::tool
