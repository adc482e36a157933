// See options.h.
#include "options.h"

#include <getopt.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "rank_board.h"

namespace nccl_slab::bench {
namespace {

constexpr char kUsage[] =
    "usage: reduce_scatter_bench [--ranks N] [--devices K] [--dtype bf16|fp16|fp32] [--sizes "
    "BYTES,BYTES,...]\n"
    "  [--graph | --eager] [--in-place] [--repeats N] [--repeat-ms MS] [--limit SECONDS] [--label TEXT] "
    "[--json FILE]\n"
    "Sizes are bytes of one rank's output and take the suffixes K and M. Times ncclReduceScatter of "
    "whatever\n"
    "libnccl.so.2 is loaded, with one process per rank.\n";

constexpr ElementType kElements[] = {
    {"bf16", ncclBfloat16, 2}, {"fp16", ncclFloat16, 2}, {"fp32", ncclFloat32, 4}};

constexpr option kOptions[] = {{"ranks", required_argument, nullptr, 'n'},
                               {"devices", required_argument, nullptr, 'g'},
                               {"dtype", required_argument, nullptr, 'd'},
                               {"sizes", required_argument, nullptr, 's'},
                               {"graph", no_argument, nullptr, 'G'},
                               {"eager", no_argument, nullptr, 'E'},
                               {"in-place", no_argument, nullptr, 'i'},
                               {"repeats", required_argument, nullptr, 'r'},
                               {"repeat-ms", required_argument, nullptr, 'm'},
                               {"limit", required_argument, nullptr, 't'},
                               {"label", required_argument, nullptr, 'l'},
                               {"json", required_argument, nullptr, 'j'},
                               {nullptr, 0, nullptr, 0}};

bool parse_element(const char* name, ElementType* element) {
  for (const ElementType& candidate : kElements) {
    if (std::strcmp(candidate.name, name) != 0) continue;
    *element = candidate;
    return true;
  }
  return false;
}

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

bool apply(int letter, const char* value, Options* options) {
  switch (letter) {
    case 'n':
      options->ranks = std::atoi(value);
      return true;
    case 'g':
      options->devices = std::atoi(value);
      return true;
    case 'd':
      return parse_element(value, &options->element);
    case 's':
      return parse_sizes(value, &options->shard_bytes);
    case 'G':
      options->graph = true;
      return true;
    case 'E':
      options->graph = false;
      return true;
    case 'i':
      options->in_place = true;
      return true;
    case 'r':
      options->repeats = std::atoi(value);
      return true;
    case 'm':
      options->repeat_ms = std::atof(value);
      return true;
    case 't':
      options->limit_s = std::atoi(value);
      return true;
    case 'l':
      options->label = value;
      return true;
    case 'j':
      options->json = value;
      return true;
    default:
      return false;
  }
}

bool sensible(const Options& options) {
  return options.ranks >= 1 && options.ranks <= kMaxRanks && options.devices >= 1 && options.repeats >= 1 &&
         options.repeat_ms > 0 && options.limit_s > 0;
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
