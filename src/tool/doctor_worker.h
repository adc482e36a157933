// Worker: a process that owns one GPU and does what the doctor asks, as the ranks of a program do: memory is
// shared between processes, so that what only fails there is seen. The doctor itself makes no CUDA call.
// Thread safety: one thread at a time per object.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/owned_fd.h"
#include "base/status.h"

namespace nccl_slab::tool {

// Memory that all workers share: a host mailbox for every GPU. Made before the first worker.
class HostRegions {
 public:
  static constexpr std::size_t kBytes = 8 << 20;  // of one region, on the host and on a GPU

  explicit HostRegions(int regions);
  ~HostRegions();
  HostRegions(const HostRegions&) = delete;
  HostRegions& operator=(const HostRegions&) = delete;
  char* at(int gpu) const { return memory_ + static_cast<std::size_t>(gpu) * kBytes; }
  char* begin() const { return memory_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_;
  char* memory_;
};

enum class Order : std::uint32_t {
  kVersions,     // fills Answer::number with the devices, the driver's, the runtime's and NCCL's version
  kOpen,         // takes device `gpu`: its facts, its regions
  kMap,          // maps the GPU memory of `owner`; Answer::number[0]: what CUDA says of peer access
  kWrite,        // writes the pattern of `seed` to the owner's region
  kCheck,        // Answer::number[0]: 1 if the own region holds that pattern
  kMeasure,      // Answer::value: GB/s and microseconds of copies to the owner's region, GB/s of stores
  kMeasureRead,  // Answer::value[0]: GB/s from host memory
  kEnter,        // enters a communicator (`seed` names it) of `gpus` ranks
  kSetUp,        // sets it up. Answer::number: whether the slab serves, whether it is broken; value[0]: ms
};

struct Question {
  Order order = Order::kVersions;
  std::int32_t gpu = 0, owner = 0, gpus = 0;
  std::uint32_t host = 0;  // the region in host memory is meant
  std::uint64_t seed = 0;
  char pci[32] = "";           // of the owner
  unsigned char handle[64]{};  // of the owner's region
};

struct Answer {
  std::uint32_t good = 0;
  char text[512] = "";  // why not; else what the order asks for
  std::int32_t number[4]{};
  double value[3]{};
  char pci[32] = "", uuid[48] = "";
  unsigned char handle[64]{};
};

class Worker {
 public:
  Worker() = default;
  Worker(Worker&& other) noexcept;
  ~Worker();  // ends the process
  static Status start(const HostRegions& regions, Worker* worker);

  // Asks and waits for the answer, bounded. An error: the process does not answer, or the answer is no.
  Status ask(const Question& question, Answer* answer);
  // The two halves, for workers that need each other.
  Status tell(const Question& question);
  Status hear(Answer* answer);

 private:
  OwnedFd socket_;
  pid_t process_ = -1;
};

}  // namespace nccl_slab::tool
