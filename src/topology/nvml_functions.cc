#include "topology/nvml_functions.h"

#include <dlfcn.h>

namespace nccl_slab::topology {
namespace {

template <typename F>
void find(void* library, const char* symbol, F* function) {
  *function = reinterpret_cast<F>(::dlsym(library, symbol));
}

}  // namespace

NvmlFunctions::~NvmlFunctions() {
  if (library_) ::dlclose(library_);
}

bool NvmlFunctions::load(const char* file) {
  library_ = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!library_) return false;
  find(library_, "nvmlInit_v2", &init);
  find(library_, "nvmlShutdown", &shutdown);
  find(library_, "nvmlDeviceGetCount_v2", &count);
  find(library_, "nvmlDeviceGetHandleByIndex_v2", &by_index);
  find(library_, "nvmlDeviceGetHandleByPciBusId_v2", &by_pci);
  find(library_, "nvmlDeviceGetPciInfo_v3", &pci);
  find(library_, "nvmlDeviceGetUUID", &uuid);
  find(library_, "nvmlDeviceGetName", &name);
  find(library_, "nvmlDeviceGetCudaComputeCapability", &capability);
  find(library_, "nvmlDeviceGetMigMode", &mig);
  find(library_, "nvmlDeviceGetNvLinkState", &link);
  find(library_, "nvmlDeviceGetP2PStatus", &p2p);
  find(library_, "nvmlDeviceGetTopologyCommonAncestor", &ancestor);
  find(library_, "nvmlSystemGetConfComputeState", &confidential);
  return true;
}

}  // namespace nccl_slab::topology
