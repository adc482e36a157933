// How loopback exports NCCL's functions: every ncclX is weak and has a strong alias pncclX at the same
// address, without a symbol version, as in NCCL. Those declared here are also called from inside, through the
// symbol table: a library that interposes them is entered from loopback as it is from NCCL.
#pragma once

#include <exception>

#include "base/nccl_abi.h"
#include "loopback/last_error.h"

#define NCCL_API(Result, name, ...)                                                            \
  extern "C" __attribute__((visibility("default"), alias(#name))) Result p##name(__VA_ARGS__); \
  extern "C" __attribute__((visibility("default"), weak)) Result name(__VA_ARGS__)

extern "C" {
__attribute__((visibility("default"), weak)) ncclResult_t ncclGetUniqueId(ncclUniqueId* id);
__attribute__((visibility("default"), weak)) ncclResult_t ncclCommGetAsyncError(ncclComm_t comm,
                                                                                ncclResult_t* state);
__attribute__((visibility("default"), weak)) ncclResult_t ncclBroadcast(const void* sendbuff, void* recvbuff,
                                                                        size_t count, ncclDataType_t datatype,
                                                                        int root, ncclComm_t comm,
                                                                        cudaStream_t stream);
}

namespace nccl_slab::loopback {

// Runs the body of an export: no exception leaves the library.
template <class Body>
ncclResult_t shielded(Body body) {
  try {
    return body();
  } catch (const std::exception& error) {
    return fail(ncclSystemError, "%s", error.what());
  }
}

// What a call on a non-blocking communicator answers: the communicator's state, asked for through the export.
inline ncclResult_t answer(bool blocking, ncclComm_t polled, ncclResult_t result) {
  if (!blocking && (result == ncclSuccess || result == ncclInProgress))
    ncclCommGetAsyncError(polled, &result);
  return result;
}

}  // namespace nccl_slab::loopback
