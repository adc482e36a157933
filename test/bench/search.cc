// See search.h. Choices follow from times that all ranks share (RankBoard::largest), so all choose alike.
#include "search.h"

#include <algorithm>

#include "candidates.h"
#include "our_library.h"
#include "report.h"

namespace nccl_slab::bench {
namespace {

constexpr Effort kFirstLook = {3, 2};
constexpr double kHopeless = 2;       // times the best: other geometries of the algorithm are not timed
constexpr double kLeads = 1.1;        // times the best: measured again
constexpr std::size_t kLeaders = 5;   // at most
constexpr double kWorthwhile = 0.98;  // of the usual plan's time: below, the usual plan stays

}  // namespace

bool Search::run() {
  if (planned(timed_->communicator(), options_.shard_bytes.front(), options_.series.front().element.type)
          .plan.empty())
    return false;
  for (const Series& series : options_.series) {
    double last_s = 0;
    for (const std::size_t bytes : options_.shard_bytes) {
      const double begin_s = clock_.seconds();
      if (!clock_.has(last_s) || !run_size(series, bytes)) {
        if (rank_ == 0) print_left(options_, series, bytes);
        continue;
      }
      last_s = clock_.seconds() - begin_s;
    }
  }
  return right_;
}

bool Search::run_size(const Series& series, std::size_t bytes) {
  found_.clear();
  force(timed_->communicator(), "");
  const Planned usual = planned(timed_->communicator(), bytes, series.element.type);
  if (!try_candidates(series, bytes, usual.plan)) return false;
  const Timed usual_timed{usual.plan, time(series, bytes, usual.plan, options_.effort)};
  const Timed best = best_of_leaders(series, bytes, usual_timed);
  force(timed_->communicator(), "");
  if (rank_ == 0)
    print_choice(options_, series,
                 {usual.key, bytes, best.plan, best.us, usual_timed.plan, usual_timed.us,
                  static_cast<int>(found_.size())});
  return true;
}

// Every candidate must be right; of an algorithm far behind only the usual geometry is timed.
bool Search::try_candidates(const Series& series, std::size_t bytes, const std::string& usual) {
  double best_us = time(series, bytes, usual, kFirstLook);
  found_.push_back({usual, best_us});
  for (const Family& family : candidates(timed_->communicator(), bytes, series.element.type)) {
    double family_us = 0;
    for (const std::string& plan : family) {
      if (!clock_.has(0)) return false;
      if (!is_right(series, bytes, plan) || plan == usual || family_us > kHopeless * best_us) continue;
      const double us = time(series, bytes, plan, kFirstLook);
      family_us = family_us == 0 ? us : std::min(family_us, us);
      best_us = std::min(best_us, us);
      found_.push_back({plan, us});
    }
  }
  return true;
}

bool Search::is_right(const Series& series, std::size_t bytes, const std::string& plan) {
  force(timed_->communicator(), plan);
  const std::size_t wrong = timed_->check(series, bytes);
  if (wrong == 0) return true;
  right_ = false;
  if (rank_ == 0) print_wrong(options_, series, bytes, plan, wrong);
  return false;
}

double Search::time(const Series& series, std::size_t bytes, const std::string& plan, const Effort& effort) {
  force(timed_->communicator(), plan);
  const Row row = timed_->measure(series, bytes, effort);
  if (row.wrong == 0) return board_->largest(rank_, row.median_us);
  right_ = false;
  if (rank_ == 0) print_wrong(options_, series, bytes, plan, row.wrong);
  return 1e12;
}

// A plan must beat the usual one clearly: what is within the spread is no reason to leave it.
Search::Timed Search::best_of_leaders(const Series& series, std::size_t bytes, const Timed& usual) {
  std::sort(found_.begin(), found_.end(), [](const Timed& a, const Timed& b) { return a.us < b.us; });
  Timed best = usual;
  for (std::size_t i = 0; i < found_.size() && i < kLeaders; ++i) {
    if (found_[i].us > kLeads * found_[0].us || found_[i].plan == usual.plan) continue;
    const double us = time(series, bytes, found_[i].plan, options_.effort);
    if (us < kWorthwhile * usual.us && us < best.us) best = {found_[i].plan, us};
  }
  return best;
}

}  // namespace nccl_slab::bench
