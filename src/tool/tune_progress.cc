#include "tool/tune_progress.h"

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "tool/bench_result.h"

namespace nccl_slab::tool {
namespace {

// A size takes at most so much longer than the one before, which is half or a quarter of it.
constexpr double kMostGrowth = 4;

std::string rest_of(std::istringstream* words) {
  std::string rest;
  std::getline(*words >> std::ws, rest);
  return rest;
}

}  // namespace

std::string TuneProgress::take(const std::string& line, double now_s) {
  std::istringstream words(line);
  std::string kind;
  words >> kind;
  if (kind == "choice") return take_choice(rest_of(&words), now_s);
  if (kind == "about") {
    std::string version, ranks, devices;
    words >> version >> ranks >> devices >> served_;
  }
  if (kind == "left") ++left_;
  if (kind != "wrong") return "";
  ++wrong_;
  return "WRONG results: " + rest_of(&words);
}

// The sizes ascend: the growth of what they take goes on.
double TuneProgress::seconds_to_come(double now_s) {
  const double duration = now_s - last_s_;
  const double growth =
      last_duration_s_ > 0 ? std::clamp(duration / last_duration_s_, 1.0, kMostGrowth) : 1.0;
  double sum = 0, next = duration;
  for (int i = 0; i < to_come_; ++i) sum += next *= growth;
  last_s_ = now_s;
  last_duration_s_ = duration;
  return std::min(sum, std::max(0.0, budget_s_ - now_s));
}

std::string TuneProgress::take_choice(const std::string& text, double now_s) {
  std::istringstream words(text);
  std::string series, plan, usual;
  double usual_us = 0;
  int candidates = 0;
  tune::TableEntry entry;
  words >> series >> entry.bytes >> plan >> entry.us >> usual >> usual_us >> candidates;
  entry.dtype = series.substr(0, series.find('/'));
  if (!words || !tune::parse_plan_text(plan, &entry.plan) || !tune::parse_key(rest_of(&words), &entry.key))
    return "";
  entries_.push_back(entry);
  to_come_ = std::max(0, to_come_ - 1);
  char told[256];
  std::snprintf(told, sizeof told, "%s %s: %s, %.2f us (untuned %.2f), of %d candidates; about %.0f s left",
                entry.dtype.c_str(), size_text(entry.bytes).c_str(), plan.c_str(), entry.us, usual_us,
                candidates, seconds_to_come(now_s));
  return told;
}

}  // namespace nccl_slab::tool
