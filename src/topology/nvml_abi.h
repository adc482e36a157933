// The part of NVML's ABI that we use. The CUDA toolkit may come without nvml.h, and the library is opened on
// demand, so the few prototypes and numbers are declared here, from the public interface of driver 525 and
// newer. Nothing here was ever changed by a release; functions whose structures grew have a suffix (_v2,
// _v3), and we name the one we mean.
#pragma once

namespace nccl_slab::topology::nvml_abi {

using Device = struct OpaqueDevice*;
using Return = int;  // 0 is success

inline constexpr unsigned kUuidBytes = 96, kNameBytes = 96;
inline constexpr unsigned kMaxLinks = 18;
inline constexpr int kEnabled = 1;  // nvmlEnableState_t

// nvmlGpuP2PCapsIndex_t and nvmlGpuP2PStatus_t
enum P2pIndex : int { kRead = 0, kWrite = 1, kNvlink = 2 };
enum P2pStatus : int { kOk = 0, kUnknownStatus = 6 };  // the others are kinds of no

// nvmlGpuTopologyLevel_t
enum TopologyLevel : int {
  kInternal = 0,
  kSingle = 10,
  kMultiple = 20,
  kHostBridge = 30,
  kNode = 40,
  kSystem = 50
};

struct PciInfo {  // nvmlPciInfo_t, as of nvmlDeviceGetPciInfo_v3
  char bus_id_legacy[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};

struct ConfidentialState {  // nvmlConfComputeSystemState_t
  unsigned environment, feature, tools_mode;
};

using Init = Return (*)();                                                // nvmlInit_v2
using Shutdown = Return (*)();                                            // nvmlShutdown
using GetCount = Return (*)(unsigned* count);                             // nvmlDeviceGetCount_v2
using GetHandleByIndex = Return (*)(unsigned index, Device* device);      // ..GetHandleByIndex_v2
using GetHandleByPci = Return (*)(const char* bus_id, Device* device);    // ..GetHandleByPciBusId_v2
using GetPciInfo = Return (*)(Device device, PciInfo* info);              // nvmlDeviceGetPciInfo_v3
using GetText = Return (*)(Device device, char* text, unsigned bytes);    // ..GetUUID, ..GetName
using GetCapability = Return (*)(Device device, int* major, int* minor);  // ..GetCudaComputeCapability
using GetMigMode = Return (*)(Device device, unsigned* current, unsigned* pending);    // ..GetMigMode
using GetLinkState = Return (*)(Device device, unsigned link, int* active);            // ..GetNvLinkState
using GetP2pStatus = Return (*)(Device from, Device to, P2pIndex, P2pStatus* status);  // ..GetP2PStatus
using GetAncestor = Return (*)(Device a, Device b, TopologyLevel* level);  // ..GetTopologyCommonAncestor

using GetConfidential = Return (*)(ConfidentialState* state);  // nvmlSystemGetConfComputeState

}  // namespace nccl_slab::topology::nvml_abi
