// The table on stdout and its machine-readable twin.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "table_round.h"

namespace programs {

struct Record {
  Round round;
  RoundFigures figures;  // of all ranks together
  int calls;             // reduce-scatters behind it, per rank
  bool good;
};

void print_header(int ranks);
void print_record(const Record& record);
// {"program", "ranks", "nccl_version", "rounds": [...], "ok"}; false if the file cannot be written.
bool write_json(const std::string& path, int ranks, const std::vector<Record>& records, bool good);

}  // namespace programs
