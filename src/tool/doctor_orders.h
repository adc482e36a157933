// Orders: what a worker does with its GPU (doctor_worker.h). Calls CUDA; lives in the worker's process.
#pragma once

#include <map>
#include <memory>

#include "comm/creation.h"
#include "device/owned.h"
#include "tool/doctor_worker.h"

namespace nccl_slab::tool {

class Orders {
 public:
  explicit Orders(const HostRegions& regions) : regions_(regions) {}
  Status obey(const Question& question, Answer* answer);

 private:
  static Status versions(Answer* answer);
  Status open(const Question& question, Answer* answer);
  Status map(const Question& question, Answer* answer);
  Status write(const Question& question);
  Status check(const Question& question, Answer* answer);
  Status measure(const Question& question, Answer* answer);
  Status measure_read(Answer* answer);
  Status enter(const Question& question);
  Status set_up(const Question& question, Answer* answer);

  Status copy(void* to, const void* from, std::size_t bytes);
  Status finish(const char* what);
  Status store(void* to);
  // Seconds that `times` times what `issue` puts on the stream take, the best of a few turns.
  template <typename Issue>
  Status time(int times, Issue issue, double* seconds);
  void* target(const Question& question);

  const HostRegions& regions_;
  int gpu_ = 0;
  bool registered_ = false;
  device::Stream stream_;
  void *region_ = nullptr, *source_ = nullptr;  // in GPU memory; freed with the process
  std::map<int, device::ImportedMemory> mapped_;
  std::unique_ptr<comm::Creation> creation_;
};

}  // namespace nccl_slab::tool
