// Prototypes of the NCCL functions that we handle, and of the few that we call ourselves. Our own
// declarations, as base/nccl_abi.h explains; the declarations also make the exported definitions visible.
// Forwarded functions need none: their arguments pass through untouched.
#pragma once

#include "base/nccl_abi.h"

// Passed through by pointer only.
typedef struct ncclSimInfo ncclSimInfo_t;

// ncclCommSplit: this rank gets no communicator.
inline constexpr int kNcclSplitNoColor = -1;
// ncclCommShrink: running operations of the parent are aborted first.
inline constexpr int kNcclShrinkAbort = 1;
// ncclCommRevoke: the only flags that NCCL knows.
inline constexpr int kNcclRevokeDefault = 0;
// ncclCommSuspend: memory is given back until the communicator resumes.
inline constexpr int kNcclSuspendMemory = 1;

#pragma GCC visibility push(default)
extern "C" {

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId id, int rank);
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config);
ncclResult_t ncclCommInitRankScalable(ncclComm_t* comm, int nranks, int rank, int id_count, ncclUniqueId* ids,
                                      ncclConfig_t* config);
ncclResult_t ncclCommInitAll(ncclComm_t* comms, int ndev, const int* devices);
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* newcomm, ncclConfig_t* config);
ncclResult_t ncclCommShrink(ncclComm_t comm, int* excluded, int excluded_count, ncclComm_t* newcomm,
                            ncclConfig_t* config, int flags);
ncclResult_t ncclCommGrow(ncclComm_t comm, int nranks, const ncclUniqueId* id, int rank, ncclComm_t* newcomm,
                          ncclConfig_t* config);

ncclResult_t ncclCommFinalize(ncclComm_t comm);
ncclResult_t ncclCommDestroy(ncclComm_t comm);
ncclResult_t ncclCommAbort(ncclComm_t comm);
ncclResult_t ncclCommRevoke(ncclComm_t comm, int flags);
ncclResult_t ncclCommSuspend(ncclComm_t comm, int flags);
ncclResult_t ncclCommResume(ncclComm_t comm);
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error);

ncclResult_t ncclReduceScatter(const void* send, void* receive, size_t count, ncclDataType_t type,
                               ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* operation, void* scalar, ncclDataType_t type,
                                      ncclScalarResidence_t residence, ncclComm_t comm);
ncclResult_t ncclRedOpDestroy(ncclRedOp_t operation, ncclComm_t comm);

ncclResult_t ncclGroupStart(void);
ncclResult_t ncclGroupEnd(void);
ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t* info);

ncclResult_t ncclCommCount(ncclComm_t comm, int* count);
ncclResult_t ncclCommUserRank(ncclComm_t comm, int* rank);
ncclResult_t ncclCommCuDevice(ncclComm_t comm, int* device);

}  // extern "C"
#pragma GCC visibility pop
