// reduce_scatter_table: a plain NCCL program. It sums random data of three types with ncclReduceScatter, in
// several sizes, out of place, in place and from a replayed graph, compares every element with fp64 and
// prints a table. It knows of no library but NCCL and CUDA; run it under a preload to see what that does to
// the errors.
//
//   reduce_scatter_table [--ranks N] [--sizes 0,1,7,...] [--dtypes bf16,fp16,fp32] [--seed S] [--json FILE]
//                        [--threads] [--same-device] [--not-above-ring] [--when-created COMMAND]
//
// COMMAND is given to the shell when every rank has its communicator, and ends before the first round begins.
// Exit status 0: every element within the bound of ring_model.h, every element written, nothing outside
// written. With
// --not-above-ring also: over each type's rounds together, maximum and mean error not above a ring's on the
// same data.
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "arguments.h"
#include "require.h"
#include "table_report.h"

namespace programs {
namespace {

constexpr const char* kSizes = "0,1,7,256,4099,65536,1000003";
constexpr const char* kTypes = "bf16,fp16,fp32";
// Graph rounds replay several times; the largest sizes add nothing to them.
constexpr size_t kLargestGraph = 100000;

struct TableOptions {
  TeamOptions team;
  std::vector<size_t> sizes;
  std::vector<const NumberType*> types;
  uint64_t seed;
  std::string json, when_created;
  bool not_above_ring;
};

TableOptions parse(int argc, char** argv) {
  const Arguments arguments(
      argc, argv, {"--ranks", "--sizes", "--dtypes", "--seed", "--json", "--limit", "--when-created"},
      {"--threads", "--same-device", "--not-above-ring"});
  TableOptions options;
  options.team.ranks = static_cast<int>(arguments.number("--ranks", 8));
  options.team.threads = arguments.has("--threads");
  options.team.same_device = arguments.has("--same-device");
  options.team.limit_s = static_cast<int>(arguments.number("--limit", 300));
  for (const std::string& size : arguments.list("--sizes", kSizes)) options.sizes.push_back(std::stoul(size));
  for (const std::string& type : arguments.list("--dtypes", kTypes))
    options.types.push_back(&type_named(type));
  options.seed = static_cast<uint64_t>(arguments.number("--seed", 1));
  options.json = arguments.text("--json", "");
  options.when_created = arguments.text("--when-created", "");
  options.not_above_ring = arguments.has("--not-above-ring");
  return options;
}

std::vector<Round> rounds_of(const TableOptions& options) {
  std::vector<Round> rounds;
  for (const NumberType* type : options.types)
    for (size_t count : options.sizes)
      for (Mode mode : {Mode::kEager, Mode::kInPlace, Mode::kGraph})
        if (mode != Mode::kGraph || count <= kLargestGraph)
          rounds.push_back({count, type, mode, options.seed * 1000 + rounds.size() * 10});
  return rounds;
}

// Everybody's figures together, the same on every rank. Collective.
RoundFigures combined(const Member& member, const RoundFigures& mine) {
  member.board->slot<RoundFigures>(member.rank) = mine;
  member.board->barrier();
  RoundFigures all;
  for (int rank = 0; rank < member.ranks; ++rank) all.add(member.board->slot<RoundFigures>(rank));
  member.board->barrier();
  return all;
}

bool is_above_ring(const RoundFigures& figures) {
  return figures.worst_relative > figures.ring_worst_relative ||
         figures.total_relative > figures.ring_total_relative;
}

// Single rounds of few elements may by chance favour the ring; what counts is a type's rounds together.
bool types_above_ring(const TableOptions& options, const std::vector<Record>& records) {
  bool above = false;
  for (const NumberType* type : options.types) {
    RoundFigures total;
    for (const Record& record : records)
      if (record.round.type == type) total.add(record.figures);
    if (!is_above_ring(total)) continue;
    std::printf("%s: worst %.4g, a ring's %.4g: less exact than a ring\n", type->name, total.worst_relative,
                total.ring_worst_relative);
    above = true;
  }
  return above;
}

int calls_of(const Round& round) {
  return round.mode == Mode::kGraph ? 3 : 1;
}

bool report(const TableOptions& options, const std::vector<Record>& records) {
  bool good = true;
  for (const Record& record : records) good = good && record.good;
  if (options.not_above_ring && types_above_ring(options, records)) good = false;
  if (!options.json.empty()) REQUIRE(write_json(options.json, options.team.ranks, records, good));
  std::printf("reduce_scatter_table: %s\n", good ? "OK" : "FAILED");
  return good;
}

// Collective; no rank has begun a round before, and none is still creating.
void run_when_created(const std::string& command, const Member& member) {
  member.board->barrier();
  if (member.rank == 0 && !command.empty()) REQUIRE(std::system(command.c_str()) == 0);
  member.board->barrier();
}

bool run_rank(const TableOptions& options, const Member& member) {
  ncclComm_t comm;
  cudaStream_t stream;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  REQUIRE(ncclCommInitRank(&comm, member.ranks, member.board->share_unique_id(member.rank), member.rank));
  run_when_created(options.when_created, member);
  std::vector<Record> records;
  if (member.rank == 0) print_header(member.ranks);
  for (const Round& round : rounds_of(options)) {
    const RoundFigures figures = combined(member, run_round(round, member, comm, stream));
    records.push_back({round, figures, calls_of(round), figures.is_good()});
    if (member.rank == 0) print_record(records.back());
  }
  REQUIRE(ncclCommDestroy(comm));
  REQUIRE(cudaStreamDestroy(stream));
  bool good = true;
  for (const Record& record : records) good = good && record.good;
  return member.rank == 0 ? report(options, records) : good;
}

int run(int argc, char** argv) {
  const TableOptions options = parse(argc, argv);
  return run_team(options.team, [&](const Member& member) { return run_rank(options, member); }) ? 0 : 1;
}

}  // namespace
}  // namespace programs

int main(int argc, char** argv) {
  try {
    return programs::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "reduce_scatter_table: %s\n", error.what());
    return 2;
  }
}
