// What the rows of wrong_calls share: a rank's communicator and buffers, and how a row is run. Thread safety: each
// rank has its own Caller.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "device_buffer.h"
#include "ledger.h"
#include "require.h"
#include "team.h"

namespace programs {

constexpr size_t kWrongCallsCount = 64;  // elements of a shard

using Results = std::vector<int>;  // what the calls of a row returned, in order

// What all ranks are told.
struct WrongCallsOptions {
  bool destroyed_too;              // also calls on destroyed communicators
  bool rare_too;                   // also suspend and resume, and children of revoked communicators
  std::set<std::string> left_out;  // rows
  std::string dies;                // a row in which ranks end as if NCCL had died of it; empty for none
};

struct Caller {
  const Member& member;
  const WrongCallsOptions& options;
  Ledger& ledger;
  ncclComm_t comm;      // of all ranks
  cudaStream_t stream;  // a non-blocking one
  DeviceBuffer& send;   // of all ranks' shards, in fp32
  DeviceBuffer& receive;
  int version;          // of the NCCL of this process
  bool checks_buffers;  // NCCL_CHECK_POINTERS=1: then wrong buffers are refused, else they end the process

  // Makes the calls of a row and prints its line at once, unless the row is left out.
  void row(const std::string& name, const std::function<Results()>& calls);

  int reduce_scatter(ncclComm_t on, size_t count = kWrongCallsCount, int type = ncclFloat32,
                     int op = ncclSum) const;
  // The arguments of one call on the right buffers, but for those given.
  int reduce_scatter_from(const void* from, void* into, size_t count = kWrongCallsCount) const;
  // A right call by all ranks and what it returned; -1 if the sum is wrong. What went wrong before must have
  // left the ranks in step.
  int in_step(ncclComm_t on);
  // A communicator of all ranks. Collective.
  ncclComm_t child() const;
  // The end of one. Ranks that are threads of a process must not run anything meanwhile: freeing memory waits
  // for the devices of all. Collective.
  int end(ncclComm_t child) const;
  bool is_first() const { return member.rank == 0; }
};

// The state of a non-blocking communicator once it is no longer busy; at most a minute.
int settled(ncclComm_t comm);

// A function that nccl.h may be too old to declare; null if the NCCL of this process is older than `since`.
// (A library in front of it may export it all the same.)
void* newer_function(const Caller& caller, const char* name, int since);

// Each part notes its rows. Collective.
void wrong_operations(Caller& caller);
void wrong_groups(Caller& caller);
void wrong_creations(Caller& caller);
void wrong_children(Caller& caller);
void wrong_endings(Caller& caller);

}  // namespace programs
