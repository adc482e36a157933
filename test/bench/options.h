// Options of the benchmark's command line, with their defaults. Plain values; parsed once before the ranks
// are forked.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "effort.h"
#include "series.h"

namespace nccl_slab::bench {

struct Options {
  int ranks = 2;
  int rank = -1;      // of this process, which a launcher has started; -1: all ranks are forked
  std::string board;  // the file that such ranks meet in
  int devices = 0;    // rank r runs on device r % devices; 0: all that there are
  std::vector<Series> series{Series{}};
  std::vector<std::size_t> shard_bytes;  // bytes of one rank's output
  Effort effort{};
  int calls = 0;          // in a graph; 0: many if they are short
  bool tune = false;      // look for the fastest plan of every size
  double budget_s = 1e9;  // no measurement begins after this time, or takes much longer
  int limit_s = 120;      // the whole run; then all ranks are ended
  bool link = false;      // measure the link of device 0 first
  bool plain_rows = false;
  std::string label;
};

// False, after one line on stderr, when the command line makes no sense.
bool parse_options(int argc, char** argv, Options* options);

}  // namespace nccl_slab::bench
