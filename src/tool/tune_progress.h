// What one measuring program of `nccl-slab tune` has said so far: entries of the table, and how long the rest
// will take. Not thread-safe.
#pragma once

#include <string>
#include <vector>

#include "tune/table.h"

namespace nccl_slab::tool {

class TuneProgress {
 public:
  // `measurements`: how many are to come; `budget_s`: what they may take at most.
  TuneProgress(int measurements, double budget_s) : to_come_(measurements), budget_s_(budget_s) {}

  // One line of the program (see test/bench/report.h), said `now_s` seconds after its start. Returns what to
  // tell people about it, or nothing.
  std::string take(const std::string& line, double now_s);

  const std::vector<tune::TableEntry>& entries() const { return entries_; }
  int wrong() const { return wrong_; }
  int left() const { return left_; }
  const std::string& served() const { return served_; }

 private:
  std::string take_choice(const std::string& text, double now_s);
  double seconds_to_come(double now_s);

  int to_come_;
  const double budget_s_;
  double last_s_ = 0, last_duration_s_ = 0;
  std::vector<tune::TableEntry> entries_;
  int wrong_ = 0, left_ = 0;
  std::string served_;
};

}  // namespace nccl_slab::tool
