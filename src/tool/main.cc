// The `nccl-slab` command. A subcommand is a row of the table below: its function gets its own name and
// arguments (argv[0] is the subcommand) and returns the exit status.
#include <cstdio>
#include <cstring>
#include <exception>

#include "tool/bench.h"
#include "tool/doctor.h"
#include "tool/env.h"
#include "tool/explain.h"
#include "tool/run.h"
#include "tool/topo.h"
#include "tool/tune.h"
#include "tool/wrong_usage.h"

namespace nccl_slab::tool {
namespace {

struct Command {
  const char* name;
  const char* usage;
  const char* summary;
  int (*run)(int argc, char** argv);
};

constexpr Command kCommands[] = {
    {"run", kRunUsage, kRunSummary, &run_command},
    {"env", kEnvUsage, kEnvSummary, &env_command},
    {"bench", kBenchUsage, kBenchSummary, &bench_command},
    {"doctor", kDoctorUsage, kDoctorSummary, &doctor_command},
    {"explain", kExplainUsage, kExplainSummary, &explain_command},
    {"tune", kTuneUsage, kTuneSummary, &tune_command},
    {"topo", kTopoUsage, kTopoSummary, &topo_command},
};

void print_help(std::FILE* to) {
  std::fputs("usage: nccl-slab COMMAND [ARGUMENTS]\n       nccl-slab --version | --help\n\n", to);
  for (const Command& command : kCommands)
    std::fprintf(to, "  %s\n      %s\n", command.usage, command.summary);
}

int wrong_usage(const char* word) {
  if (word != nullptr) std::fprintf(stderr, "nccl-slab: no command is called %s\n", word);
  print_help(stderr);
  return kWrongUsage;
}

int tell_usage(const Command& command) {
  return std::printf("usage: nccl-slab %s\n      %s\n", command.usage, command.summary) < 0;
}

bool is(const char* word, const char* one, const char* other) {
  return std::strcmp(word, one) == 0 || std::strcmp(word, other) == 0;
}

int dispatch(int argc, char** argv) {
  if (argc < 2) return wrong_usage(nullptr);
  if (is(argv[1], "--version", "version")) return std::puts("nccl-slab " NCCL_SLAB_PROJECT_VERSION) < 0;
  if (is(argv[1], "--help", "help")) return print_help(stdout), 0;
  for (const Command& command : kCommands) {
    if (std::strcmp(argv[1], command.name) != 0) continue;
    const bool asks = argc == 3 && is(argv[2], "--help", "-h");
    return asks ? tell_usage(command) : command.run(argc - 1, argv + 1);
  }
  return wrong_usage(argv[1]);
}

}  // namespace
}  // namespace nccl_slab::tool

int main(int argc, char** argv) try {
  return nccl_slab::tool::dispatch(argc, argv);
} catch (const std::exception& error) {
  std::fprintf(stderr, "nccl-slab: %s\n", error.what());
  return 1;
}
