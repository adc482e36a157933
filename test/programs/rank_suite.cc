// rank_suite: a plain NCCL program that checks itself, case by case, on a team of ranks. It knows of no
// library but NCCL and CUDA.
//
//   rank_suite [--ranks N] [--threads] [--same-device] [--case a,b,...] [--list] [--repeat N] [--seed S]
//              [--limit SECONDS]
//
// Prints `case NAME: ok` or `case NAME: FAILED what, on which rank`. Exit status 0: all cases ok.
#include <algorithm>
#include <cstdio>
#include <exception>

#include "arguments.h"
#include "suite.h"

namespace programs {
namespace {

SuiteOptions parse(const Arguments& arguments) {
  SuiteOptions options;
  options.team.ranks = static_cast<int>(arguments.number("--ranks", 8));
  options.team.threads = arguments.has("--threads");
  options.team.same_device = arguments.has("--same-device");
  options.team.limit_s = static_cast<int>(arguments.number("--limit", 300));
  options.cases = arguments.list("--case", "");
  options.repeat = static_cast<int>(arguments.number("--repeat", 50));
  options.seed = static_cast<uint64_t>(arguments.number("--seed", 1));
  return options;
}

bool is_chosen(const SuiteOptions& options, const Case& one) {
  if (!options.cases.empty())
    return std::find(options.cases.begin(), options.cases.end(), one.name) != options.cases.end();
  return !one.on_request;
}

void check_names(const SuiteOptions& options) {
  const std::vector<Case> cases = all_cases();
  for (const std::string& name : options.cases)
    if (std::none_of(cases.begin(), cases.end(), [&](const Case& one) { return name == one.name; }))
      throw std::invalid_argument("no case " + name);
}

// The complaint of the first rank that has one. Collective.
std::string collected(Suite& suite) {
  struct Complaint {
    char text[200];
  };
  Board& board = *suite.member.board;
  std::snprintf(board.slot<Complaint>(suite.rank()).text, sizeof(Complaint), "%s", suite.complaint.c_str());
  board.barrier();
  std::string all;
  for (int rank = suite.ranks() - 1; rank >= 0; --rank)
    if (board.slot<Complaint>(rank).text[0] != 0)
      all = std::string(board.slot<Complaint>(rank).text) + ", on rank " + std::to_string(rank);
  board.barrier();
  suite.complaint.clear();
  return all;
}

bool run_case(Suite& suite, const Case& one) {
  one.run(suite);
  suite.expect(cudaGetLastError() == cudaSuccess, "no CUDA error is left behind");
  const std::string complaint = collected(suite);
  if (suite.rank() == 0) {
    std::printf("case %s: %s%s\n", one.name, complaint.empty() ? "ok" : "FAILED ", complaint.c_str());
    std::fflush(stdout);
  }
  return complaint.empty();
}

bool run_rank(const SuiteOptions& options, const Member& member) {
  Suite suite{options, member, nullptr, nullptr, {}};
  REQUIRE(cudaStreamCreateWithFlags(&suite.stream, cudaStreamNonBlocking));
  REQUIRE(
      ncclCommInitRank(&suite.comm, member.ranks, member.board->share_unique_id(member.rank), member.rank));
  REQUIRE(cudaPeekAtLastError());
  bool good = true;
  for (const Case& one : all_cases())
    if (is_chosen(options, one)) good = run_case(suite, one) && good;
  REQUIRE(ncclCommDestroy(suite.comm));
  REQUIRE(cudaStreamDestroy(suite.stream));
  return good;
}

int run(int argc, char** argv) {
  const Arguments arguments(argc, argv, {"--ranks", "--case", "--repeat", "--seed", "--limit"},
                            {"--threads", "--same-device", "--list"});
  const SuiteOptions options = parse(arguments);
  check_names(options);
  if (arguments.has("--list")) {
    for (const Case& one : all_cases()) std::printf("%s\n", one.name);
    return 0;
  }
  const bool good = run_team(options.team, [&](const Member& member) { return run_rank(options, member); });
  std::printf("rank_suite: %s\n", good ? "OK" : "FAILED");
  return good ? 0 : 1;
}

}  // namespace
}  // namespace programs

int main(int argc, char** argv) {
  try {
    return programs::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank_suite: %s\n", error.what());
    return 2;
  }
}
