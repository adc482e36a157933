// What the programs of the finding tests do with NCCL once they have reached it, whichever way.
#pragma once

#include <string>

#include "abi/prototypes.h"

extern "C" ncclResult_t ncclGetVersion(int* version);

struct Nccl {
  decltype(&::ncclGetVersion) get_version;
  decltype(&::ncclCommInitRank) init_rank;
  decltype(&::ncclReduceScatter) reduce_scatter;
  decltype(&::ncclCommDestroy) destroy;
};

// Makes a communicator, has an empty reduce-scatter forwarded, destroys the communicator; tells which release
// answered and with what. Compiled into each module that calls, so that the calls come from there.
inline std::string use_nccl(const Nccl& nccl) {
  int version = 0;
  ncclComm_t comm = nullptr;
  std::string told = "version " + std::to_string(nccl.get_version(&version));
  told += "=" + std::to_string(version);
  told += " init " + std::to_string(nccl.init_rank(&comm, 2, ncclUniqueId{}, 0));
  told += " reduce-scatter " +
          std::to_string(nccl.reduce_scatter(nullptr, nullptr, 0, ncclFloat32, ncclSum, comm, nullptr));
  told += " destroy " + std::to_string(nccl.destroy(comm));
  return told;
}
