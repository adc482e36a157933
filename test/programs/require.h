// Turns error codes into exceptions that name the call. A rank that throws fails its program; see team.h.
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <stdexcept>
#include <string>

namespace programs {

inline void require(cudaError_t error, const char* call) {
  if (error != cudaSuccess) throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(error));
}

inline void require(ncclResult_t result, const char* call) {
  if (result != ncclSuccess)
    throw std::runtime_error(std::string(call) + ": " + ncclGetErrorString(result) + " " +
                             ncclGetLastError(nullptr));
}

inline void require(bool holds, const char* claim) {
  if (!holds) throw std::runtime_error(std::string("does not hold: ") + claim);
}

}  // namespace programs

#define REQUIRE(expression) ::programs::require((expression), #expression)
