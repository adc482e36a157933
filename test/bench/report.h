// The benchmark's output: a table on stdout while it runs, and the same numbers as a JSON file. Called by
// rank 0 only.
#pragma once

#include <vector>

#include "options.h"
#include "timed_rank.h"

namespace nccl_slab::bench {

void print_header(const Options& options);
void print_row(const Options& options, const Row& row);
// False when the file cannot be written.
bool write_json(const Options& options, const std::vector<Row>& rows);

}  // namespace nccl_slab::bench
