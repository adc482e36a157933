// See campaign.h.
#include "campaign.h"

#include "report.h"

namespace nccl_slab::bench {
namespace {

// Of the next size, which is mostly four times as long; where that matters the time is, too.
double expected_s(double last_s) {
  return last_s > 1 ? 4 * last_s : last_s;
}

}  // namespace

bool Campaign::run() {
  for (const Series& series : options_.series) run_series(series);
  return right_;
}

void Campaign::run_series(const Series& series) {
  if (rank_ == 0) print_series(options_, series);
  double last_s = 0;
  for (const std::size_t bytes : options_.shard_bytes) {
    if (!clock_.has(expected_s(last_s))) {
      if (rank_ == 0) print_left(options_, series, bytes);
      continue;
    }
    const double begin_s = clock_.seconds();
    const Row row = timed_->measure(series, bytes, options_.effort);
    right_ = right_ && row.wrong == 0;
    if (rank_ == 0) print_row(options_, series, row);
    last_s = clock_.seconds() - begin_s;
  }
}

}  // namespace nccl_slab::bench
