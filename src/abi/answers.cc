#include "abi/answers.h"

#include <mutex>
#include <set>
#include <string>

#include "base/log.h"
#include "base/nccl_abi.h"

namespace nccl_slab::abi {
namespace {

// Three integers by value, as NCCL's ncclTeam_t: returned in registers, so no memory of the caller is
// written.
struct Team {
  int nranks, rank, stride;
};

ncclResult_t invalid_usage() {
  return ncclInvalidUsage;
}
ncclResult_t system_error() {
  return ncclSystemError;
}
const char* missing_text() {
  return "this NCCL lacks the function (nccl-slab)";
}
const char* absent_text() {
  return "the real NCCL library was not found (nccl-slab)";
}
int no_number() {
  return 0;
}
Team no_team() {
  return Team{0, 0, 0};
}
void nothing() {}

template <typename Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);
}

void* harmless(Answer answer) {
  if (answer == Answer::team) return address(&no_team);
  if (answer == Answer::number) return address(&no_number);
  return address(&nothing);
}

}  // namespace

void warn_missing(const char* name) {
  static auto* said = new std::set<std::string>();
  static auto* mutex = new std::mutex();
  const std::lock_guard lock(*mutex);
  if (said->insert(name).second) NCCL_SLAB_WARN("the NCCL that serves this call has no %s", name);
}

void* missing_answer(Answer answer) {
  if (answer == Answer::result) return address(&invalid_usage);
  if (answer == Answer::text) return address(&missing_text);
  return harmless(answer);
}

void* absent_answer(Answer answer) {
  if (answer == Answer::result) return address(&system_error);
  if (answer == Answer::text) return address(&absent_text);
  return harmless(answer);
}

}  // namespace nccl_slab::abi
