// See options.h.
#include "options.h"

#include <getopt.h>

#include <cstdio>
#include <cstdlib>

#include "rank_board.h"

namespace nccl_slab::bench {
namespace {

constexpr char kUsage[] =
    "usage: reduce_scatter_bench [--ranks N] [--devices K] [--sizes BYTES,BYTES,...]\n"
    "  [--dtype bf16|fp16|fp32] [--graph | --eager] [--in-place] [--series TYPE/graph|eager/out|in,...]\n"
    "  [--calls N] [--repeats N] [--repeat-ms MS] [--budget SECONDS] [--limit SECONDS] [--label TEXT] "
    "[--link] [--rows]\n"
    "  [--tune] [--rank R --board FILE]\n"
    "Sizes are bytes of one rank's output and take the suffixes K and M. Times ncclReduceScatter of\n"
    "whatever libnccl.so.2 is loaded, with one process per rank; `nccl-slab bench` compares with it.\n";

constexpr option kOptions[] = {{"ranks", required_argument, nullptr, 'n'},
                               {"rank", required_argument, nullptr, 'k'},
                               {"board", required_argument, nullptr, 'B'},
                               {"devices", required_argument, nullptr, 'g'},
                               {"dtype", required_argument, nullptr, 'd'},
                               {"sizes", required_argument, nullptr, 's'},
                               {"series", required_argument, nullptr, 'S'},
                               {"graph", no_argument, nullptr, 'G'},
                               {"eager", no_argument, nullptr, 'E'},
                               {"in-place", no_argument, nullptr, 'i'},
                               {"calls", required_argument, nullptr, 'c'},
                               {"repeats", required_argument, nullptr, 'r'},
                               {"repeat-ms", required_argument, nullptr, 'm'},
                               {"budget", required_argument, nullptr, 'b'},
                               {"limit", required_argument, nullptr, 't'},
                               {"label", required_argument, nullptr, 'l'},
                               {"link", no_argument, nullptr, 'L'},
                               {"tune", no_argument, nullptr, 'T'},
                               {"rows", no_argument, nullptr, 'R'},
                               {nullptr, 0, nullptr, 0}};

bool parse_sizes(const char* text, std::vector<std::size_t>* sizes) {
  sizes->clear();
  for (const char* at = text; *at != '\0';) {
    char* end = nullptr;
    std::size_t bytes = std::strtoull(at, &end, 10);
    if (end == at || bytes == 0) return false;
    if (*end == 'K') bytes <<= 10, ++end;
    if (*end == 'M') bytes <<= 20, ++end;
    sizes->push_back(bytes);
    if (*end != ',' && *end != '\0') return false;
    at = *end == ',' ? end + 1 : end;
  }
  return !sizes->empty();
}

// What concerns the only series, or the first of a list.
bool apply_to_series(int letter, const char* value, Series* series) {
  switch (letter) {
    case 'd':
      return parse_element(value, &series->element);
    case 'G':
    case 'E':
      series->graph = letter == 'G';
      return true;
    case 'i':
      series->in_place = true;
      return true;
    default:
      return false;
  }
}

bool apply_to_length(int letter, const char* value, Options* options) {
  switch (letter) {
    case 'r':
      options->effort.repeats = std::atoi(value);
      return true;
    case 'm':
      options->effort.repeat_ms = std::atof(value);
      return true;
    case 'c':
      return (options->calls = std::atoi(value)) > 0;
    case 'b':
      options->budget_s = std::atof(value);
      return true;
    case 't':
      options->limit_s = std::atoi(value);
      return true;
    default:
      return false;
  }
}

bool apply(int letter, const char* value, Options* options) {
  switch (letter) {
    case 'n':
      options->ranks = std::atoi(value);
      return true;
    case 'k':
      options->rank = std::atoi(value);
      return true;
    case 'B':
      options->board = value;
      return true;
    case 'g':
      options->devices = std::atoi(value);
      return true;
    case 's':
      return parse_sizes(value, &options->shard_bytes);
    case 'S':
      return parse_series(value, &options->series);
    case 'l':
      options->label = value;
      return true;
    case 'L':
      return options->link = true;
    case 'T':
      return options->tune = true;
    case 'R':
      return options->plain_rows = true;
    default:
      return apply_to_series(letter, value, &options->series.front()) ||
             apply_to_length(letter, value, options);
  }
}

// A size that holds no whole number of some element would be measured as another size.
bool whole_elements(const Options& options) {
  for (const std::size_t bytes : options.shard_bytes)
    for (const Series& series : options.series)
      if (bytes % series.element.bytes != 0) return false;
  return true;
}

bool sensible(const Options& options) {
  return options.ranks >= 1 && options.ranks <= kMaxRanks && options.rank < options.ranks &&
         (options.rank < 0 || !options.board.empty()) && options.devices >= 0 &&
         options.effort.repeats >= 1 && options.effort.repeat_ms > 0 && options.limit_s > 0 &&
         whole_elements(options);
}

}  // namespace

bool parse_options(int argc, char** argv, Options* options) {
  parse_sizes("4K,16K,64K,256K,1M,4M,16M", &options->shard_bytes);
  bool good = true;
  for (int letter; good && (letter = getopt_long(argc, argv, "", kOptions, nullptr)) != -1;) {
    good = apply(letter, optarg, options);
  }
  if (good && optind == argc && sensible(*options)) return true;
  std::fputs(kUsage, stderr);
  return false;
}

}  // namespace nccl_slab::bench
