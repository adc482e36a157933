// wrong_calls: an NCCL program that does everything wrong that can be done without ending the process, and
// prints what each call returned, rank by rank. It judges nothing but that right calls in between stay right:
// a test runs it with and without a library in front of NCCL, and the lines must be the same.
//
//   wrong_calls [--ranks N] [--threads] [--same-device] [--destroyed] [--rare] [--without ROW;ROW...]
//               [--dies ROW] [--limit SECONDS]
//
// --destroyed also uses communicators after their end, which NCCL itself may not survive; --rare suspends and
// resumes one, and makes children of a revoked one; --dies tests this program: ranks end in that row as if NCCL
// had done it. With NCCL_CHECK_POINTERS=1 wrong buffers are tried too.
//
// Lines: `RANK ROW: RESULT ...`, each as soon as it is known. Of a row that NCCL does not survive the line is
// `RANK ROW: died of signal N`; then the ranks start again without that row, and repeat their other lines.
#include "wrong_calls.h"

#include <dlfcn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <functional>
#include <set>
#include <sstream>
#include <vector>

#include "arguments.h"

namespace programs {

void Caller::row(const std::string& name, const std::function<Results()>& calls) {
  if (options.left_out.contains(name)) return;
  ledger.enter(member.rank, name);
  if (name == options.dies) std::raise(SIGSEGV);
  const Results results = calls();
  ledger.leave(member.rank);
  std::string line = std::to_string(member.rank) + " " + name + ":";
  for (int result : results) line += " " + std::to_string(result);
  line += "\n";
  std::fwrite(line.data(), 1, line.size(), stdout);  // in one piece: ranks share the output
  std::fflush(stdout);
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

bool run_rank(const Member& member, const WrongCallsOptions& options, Ledger& ledger) {
  const size_t shard = kWrongCallsCount * sizeof(float);
  DeviceBuffer send(shard * static_cast<size_t>(member.ranks)), receive(shard);
  Caller caller{member, options, ledger, nullptr, nullptr, send, receive, 0, is_set("NCCL_CHECK_POINTERS")};
  REQUIRE(ncclGetVersion(&caller.version));
  REQUIRE(cudaStreamCreateWithFlags(&caller.stream, cudaStreamNonBlocking));
  REQUIRE(
      ncclCommInitRank(&caller.comm, member.ranks, member.board->share_unique_id(member.rank), member.rank));
  for (auto part : {wrong_operations, wrong_groups, wrong_creations, wrong_children, wrong_endings}) {
    part(caller);
    caller.row("in step", [&]() -> Results { return {caller.in_step(caller.comm)}; });
  }
  REQUIRE(static_cast<ncclResult_t>(caller.end(caller.comm)));
  REQUIRE(cudaStreamDestroy(caller.stream));
  return true;
}

// In a process of its own, so that what its ranks die of leaves this one alive; true if all went well.
bool run_apart(const std::function<bool()>& team) {
  std::fflush(nullptr);
  const pid_t parent = ::getpid(), child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::exit(::getppid() == parent && team() ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return status == 0;
}

// The ranks, again and again until no row is left of which they die.
bool run_teams(TeamOptions team, WrongCallsOptions options) {
  Ledger* ledger = Ledger::create();
  const std::time_t end = std::time(nullptr) + team.limit_s;
  for (;;) {
    team.limit_s = static_cast<int>(std::max<std::time_t>(0, end - std::time(nullptr)));
    const auto all_ranks = [&] {
      return run_team(team, [&](const Member& member) { return run_rank(member, options, *ledger); });
    };
    const bool good = team.threads ? run_apart(all_ranks) : all_ranks();
    const std::set<std::string> deadly = ledger->take_deadly();
    if (deadly.empty()) return good;
    for (const std::string& row : deadly) std::printf("wrong_calls: again, without \"%s\"\n", row.c_str());
    options.left_out.insert(deadly.begin(), deadly.end());
  }
}

std::set<std::string> split(const std::string& text) {
  std::set<std::string> rows;
  std::istringstream stream(text);
  for (std::string row; std::getline(stream, row, ';');) rows.insert(row);
  return rows;
}

int run(int argc, char** argv) {
  const Arguments arguments(argc, argv, {"--ranks", "--limit", "--without", "--dies"},
                            {"--threads", "--same-device", "--destroyed", "--rare"});
  TeamOptions team;
  team.ranks = static_cast<int>(arguments.number("--ranks", 2));
  team.limit_s = static_cast<int>(arguments.number("--limit", 60));
  team.threads = arguments.has("--threads");
  team.same_device = arguments.has("--same-device");
  const bool good = run_teams(team, {arguments.has("--destroyed"), arguments.has("--rare"),
                                     split(arguments.text("--without", "")), arguments.text("--dies", "")});
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
