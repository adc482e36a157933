// Options of the benchmark's command line, with their defaults. Plain values; parsed once before the ranks
// are forked.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <string>
#include <vector>

namespace nccl_slab::bench {

struct ElementType {
  const char* name;
  ncclDataType_t type;
  std::size_t bytes;
};

struct Options {
  int ranks = 2;
  int devices = 1;  // rank r runs on device r % devices
  ElementType element = {"bf16", ncclBfloat16, 2};
  std::vector<std::size_t> shard_bytes;  // bytes of one rank's output
  bool graph = true;
  bool in_place = false;
  int repeats = 5;
  double repeat_ms = 20;  // aimed-at duration of one repeat
  int limit_s = 120;      // the whole run; the parent then ends all ranks
  std::string label;
  std::string json;  // file to write, empty for none
};

// False, after one line on stderr, when the command line makes no sense.
bool parse_options(int argc, char** argv, Options* options);

}  // namespace nccl_slab::bench
