// The functions of NVML that nvml.cc calls, looked up in the library when it is opened. Any of them may be
// missing: drivers differ. Closing the library is the owner's end.
#pragma once

#include "topology/nvml_abi.h"

namespace nccl_slab::topology {

struct NvmlFunctions {
  nvml_abi::Init init = nullptr;
  nvml_abi::Shutdown shutdown = nullptr;
  nvml_abi::GetCount count = nullptr;
  nvml_abi::GetHandleByIndex by_index = nullptr;
  nvml_abi::GetHandleByPci by_pci = nullptr;
  nvml_abi::GetPciInfo pci = nullptr;
  nvml_abi::GetText uuid = nullptr, name = nullptr;
  nvml_abi::GetCapability capability = nullptr;
  nvml_abi::GetMigMode mig = nullptr;
  nvml_abi::GetLinkState link = nullptr;
  nvml_abi::GetP2pStatus p2p = nullptr;
  nvml_abi::GetAncestor ancestor = nullptr;
  nvml_abi::GetConfidential confidential = nullptr;

  NvmlFunctions() = default;
  NvmlFunctions(const NvmlFunctions&) = delete;
  NvmlFunctions& operator=(const NvmlFunctions&) = delete;
  ~NvmlFunctions();

  // False if there is no such library.
  bool load(const char* file);

 private:
  void* library_ = nullptr;
};

}  // namespace nccl_slab::topology
