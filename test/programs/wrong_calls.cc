// wrong_calls: an NCCL program that does everything wrong that can be done without ending the process, and
// prints what each call returned, rank by rank. It judges nothing but that right calls in between stay right:
// a test runs it with and without a library in front of NCCL, and the lines must be the same.
//
//   wrong_calls [--ranks N] [--threads] [--same-device] [--destroyed] [--rare] [--limit SECONDS]
//
// --destroyed also uses communicators after their end, which NCCL itself may not survive; --rare suspends
// and resumes one, and makes children of a revoked one. With NCCL_CHECK_POINTERS=1 wrong buffers are tried too. Lines: `RANK ROW: RESULT ...`.
#include "wrong_calls.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <vector>

#include "arguments.h"

namespace programs {

void Caller::note(const std::string& row, std::initializer_list<int> results) {
  transcript += std::to_string(member.rank) + " " + row + ":";
  for (int result : results) transcript += " " + std::to_string(result);
  transcript += "\n";
}

int Caller::reduce_scatter(ncclComm_t on, size_t count, int type, int op) const {
  return ncclReduceScatter(send.data(), receive.data(), count, static_cast<ncclDataType_t>(type),
                           static_cast<ncclRedOp_t>(op), on, stream);
}

int Caller::reduce_scatter_from(const void* from, void* into, size_t count) const {
  return ncclReduceScatter(from, into, count, ncclFloat32, ncclSum, comm, stream);
}

int Caller::in_step(ncclComm_t on) {
  const auto ranks = static_cast<size_t>(member.ranks);
  std::vector<float> values(kWrongCallsCount * ranks);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(member.rank + 1 + int(i % 7));
  std::vector<unsigned char> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  send.upload(bytes);
  receive.poison();
  int result = reduce_scatter(on);
  if (result == ncclInProgress) result = settled(on);
  REQUIRE(cudaStreamSynchronize(stream));
  const std::vector<unsigned char> out = receive.download();
  for (size_t i = 0; i < kWrongCallsCount; ++i) {
    float sum = 0;
    std::memcpy(&sum, &out[i * sizeof sum], sizeof sum);
    const size_t index = static_cast<size_t>(member.rank) * kWrongCallsCount + i;
    if (sum != static_cast<float>(ranks * (ranks + 1) / 2 + ranks * (index % 7))) return -1;
  }
  return result;
}

ncclComm_t Caller::child() const {
  ncclComm_t made = nullptr;
  REQUIRE(ncclCommSplit(comm, 0, member.rank, &made, nullptr));
  return made;
}

int Caller::end(ncclComm_t child) const {
  member.board->barrier();
  const int result = ncclCommDestroy(child);
  member.board->barrier();
  return result;
}

int settled(ncclComm_t comm) {
  ncclResult_t state = ncclInProgress;
  for (int turn = 0; turn < 600000 && state == ncclInProgress; ++turn) {
    if (ncclCommGetAsyncError(comm, &state) != ncclSuccess) return -1;
    ::usleep(100);
  }
  return state;
}

void* newer_function(const Caller& caller, const char* name, int since) {
  return caller.version < since ? nullptr : ::dlsym(RTLD_DEFAULT, name);
}

namespace {

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && std::strcmp(value, "0") != 0;
}

// One write per line: ranks share the output.
void print_lines(const std::string& text) {
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin) + 1;
    std::fwrite(text.data() + begin, 1, end - begin, stdout);
    std::fflush(stdout);
    begin = end;
  }
}

bool run_rank(const Member& member, bool destroyed_too, bool rare_too) {
  const size_t shard = kWrongCallsCount * sizeof(float);
  DeviceBuffer send(shard * static_cast<size_t>(member.ranks)), receive(shard);
  Caller caller{member,        nullptr,  nullptr, send, receive, 0, is_set("NCCL_CHECK_POINTERS"),
                destroyed_too, rare_too, {}};
  REQUIRE(ncclGetVersion(&caller.version));
  REQUIRE(cudaStreamCreateWithFlags(&caller.stream, cudaStreamNonBlocking));
  REQUIRE(
      ncclCommInitRank(&caller.comm, member.ranks, member.board->share_unique_id(member.rank), member.rank));
  for (auto part : {wrong_operations, wrong_groups, wrong_creations, wrong_children, wrong_endings}) {
    part(caller);
    caller.note("in step", {caller.in_step(caller.comm)});
  }
  REQUIRE(static_cast<ncclResult_t>(caller.end(caller.comm)));
  REQUIRE(cudaStreamDestroy(caller.stream));
  print_lines(caller.transcript);
  return true;
}

int run(int argc, char** argv) {
  const Arguments arguments(argc, argv, {"--ranks", "--limit"},
                            {"--threads", "--same-device", "--destroyed", "--rare"});
  TeamOptions team;
  team.ranks = static_cast<int>(arguments.number("--ranks", 2));
  team.limit_s = static_cast<int>(arguments.number("--limit", 60));
  team.threads = arguments.has("--threads");
  team.same_device = arguments.has("--same-device");
  const bool destroyed_too = arguments.has("--destroyed"), rare_too = arguments.has("--rare");
  const bool good =
      run_team(team, [&](const Member& member) { return run_rank(member, destroyed_too, rare_too); });
  std::printf("wrong_calls: %s\n", good ? "OK" : "FAILED");
  return good ? 0 : 1;
}

}  // namespace
}  // namespace programs

int main(int argc, char** argv) {
  try {
    return programs::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "wrong_calls: %s\n", error.what());
    return 2;
  }
}
