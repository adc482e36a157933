#include "tool/bench_options.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <sstream>
#include <string_view>

#include "tool/wrong_usage.h"

namespace nccl_slab::tool {
namespace {

using Words = std::vector<std::string>;

// What a command line may hold, with the defaults of what both commands have.
using Values = std::map<std::string, std::string, std::less<>>;
const Values kCommon = {{"--machine", ""},  {"--nccl", ""},     {"--ranks", ""},
                        {"--devices", "0"}, {"--sizes", ""},    {"--transport", ""},
                        {"--dtype", ""},    {"--repeats", "5"}, {"--budget", ""}};
const Values kOfBench = {{"--mode", ""}, {"--place", ""}, {"--json", ""}, {"--svg", ""}};
const Values kOfTune = {{"--file", ""}};
const Words kSwitches = {"--tables", "--without-nccl"};

// For what was not asked for.
const Values kUsual = {{"--transport", "auto"},   {"--dtype", "bf16,fp16,fp32"},
                       {"--mode", "graph,eager"}, {"--place", "out,in"},
                       {"--budget", "240"},       {"--sizes", "1K,4K,16K,64K,256K,1M,4M,16M,64M,256M"}};
const Values kTables = {{"--transport", "host,peer"},
                        {"--ranks", "2,4,8"},
                        {"--dtype", "bf16"},
                        {"--mode", "graph"},
                        {"--place", "out"},
                        {"--budget", "240"},
                        {"--sizes", "1K,4K,16K,64K,256K,1M,4M,16M"}};
const Values kTuning = {
    {"--transport", "auto"}, {"--dtype", "bf16"},
    {"--mode", "graph"},     {"--place", "out"},
    {"--budget", "900"},     {"--sizes", "1K,2K,4K,8K,16K,32K,64K,128K,256K,512K,1M,2M,4M,8M,16M,64M"}};

constexpr std::uint64_t kLongestShard = std::uint64_t{4} << 30;

Words split(const std::string& text) {
  Words words;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, ',');) words.push_back(word);
  return words;
}

Status take_int(const std::string& option, const std::string& text, int least, int most, int* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  if (error == std::errc() && end == text.data() + text.size() && *value >= least && *value <= most)
    return Status::ok();
  return wrong_value(option, text, std::to_string(least) + " to " + std::to_string(most));
}

// Splits the command line into the values that there are and switches.
Status read(int argc, char** argv, const Words& switches, Values* values, Words* given) {
  for (int at = 1; at < argc; ++at) {
    const std::string word = argv[at];
    const std::size_t equals = word.find('=');
    const auto value = values->find(word.substr(0, equals));
    if (std::find(switches.begin(), switches.end(), word) != switches.end()) {
      given->push_back(word);
    } else if (value != values->end() && equals != std::string::npos) {
      value->second = word.substr(equals + 1);
    } else if (value != values->end() && at + 1 < argc) {
      value->second = argv[++at];
    } else {
      return unknown_option(word);
    }
  }
  return Status::ok();
}

void fill_in(const Values& usual, Values* values) {
  for (const auto& [name, value] : usual)
    if ((*values)[name].empty()) (*values)[name] = value;
}

Status check_words(const std::string& option, const Words& words, const Words& known) {
  std::string expected;
  for (const std::string& word : known) expected += (expected.empty() ? "" : ", ") + word;
  if (words.empty()) return wrong_value(option, "", expected);
  for (const std::string& word : words)
    if (std::find(known.begin(), known.end(), word) == known.end())
      return wrong_value(option, word, expected);
  return Status::ok();
}

std::string series_of(const Words& types, const Words& modes, const Words& places) {
  const auto named = [](const std::string& type, const std::string& mode, const std::string& place) {
    return type + "/" + mode + "/" + place;
  };
  std::string text = named(types[0], modes[0], places[0]);
  for (std::size_t i = 1; i < modes.size(); ++i) text += "," + named(types[0], modes[i], places[0]);
  for (std::size_t i = 1; i < types.size(); ++i) text += "," + named(types[i], modes[0], places[0]);
  for (std::size_t i = 1; i < places.size(); ++i) text += "," + named(types[0], modes[0], places[i]);
  return text;
}

// As reduce_scatter_bench reads them: bytes, K or M behind them.
bool is_size(std::string_view text) {
  std::uint64_t number = 0, unit = 1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view suffix = text.substr(static_cast<std::size_t>(end - text.data()));
  if (suffix == "K") unit = 1 << 10;
  if (suffix == "M") unit = 1 << 20;
  return error == std::errc() && (suffix.empty() || unit > 1) && number > 0 && number <= kLongestShard / unit;
}

Status check_sizes(const std::string& text) {
  const Words words = split(text);
  const std::string expected = "bytes of a shard, K or M behind them, up to 4096M, as in 1K,64K,1M";
  if (words.empty()) return wrong_value("--sizes", text, expected);
  for (const std::string& word : words)
    if (!is_size(word)) return wrong_value("--sizes", word, expected);
  return Status::ok();
}

Status take_series(const Values& values, BenchOptions* options) {
  const Words types = split(values.at("--dtype")), modes = split(values.at("--mode")),
              places = split(values.at("--place"));
  if (Status status = check_words("--dtype", types, {"bf16", "fp16", "fp32"}); !status) return status;
  if (Status status = check_words("--mode", modes, {"graph", "eager"}); !status) return status;
  if (Status status = check_words("--place", places, {"out", "in"}); !status) return status;
  options->series = series_of(types, modes, places);
  options->sizes = values.at("--sizes");
  return check_sizes(options->sizes);
}

Status take_ranks(const std::string& text, BenchOptions* options) {
  for (const std::string& word : split(text))
    if (Status status = take_int("--ranks", word, 2, 16, &options->ranks.emplace_back()); !status)
      return status;
  return Status::ok();
}

Status take_numbers(const Values& values, BenchOptions* options) {
  int budget = 0;
  const auto take = [&](const char* option, int least, int most, int* value) {
    return take_int(option, values.at(option), least, most, value);
  };
  if (Status status = take("--devices", 0, 64, &options->devices); !status) return status;
  if (Status status = take("--repeats", 1, 1000, &options->repeats); !status) return status;
  if (Status status = take("--budget", 1, 1000000, &budget); !status) return status;
  options->budget_s = budget;
  return Status::ok();
}

Status take_all(const Values& values, BenchOptions* options) {
  options->transports = split(values.at("--transport"));
  if (Status status = check_words("--transport", options->transports, {"auto", "peer", "host"}); !status)
    return status;
  options->machine = values.at("--machine");
  options->nccl = values.at("--nccl");
  if (Status status = take_ranks(values.at("--ranks"), options); !status) return status;
  if (Status status = take_series(values, options); !status) return status;
  return take_numbers(values, options);
}

}  // namespace

Status parse_bench_options(int argc, char** argv, BenchOptions* options) {
  Values values = kCommon;
  values.insert(kOfBench.begin(), kOfBench.end());
  Words given;
  if (Status status = read(argc, argv, kSwitches, &values, &given); !status) return status;
  options->tables = std::count(given.begin(), given.end(), "--tables") > 0;
  options->without_nccl = std::count(given.begin(), given.end(), "--without-nccl") > 0;
  fill_in(options->tables ? kTables : kUsual, &values);
  options->json = values["--json"];
  options->svg = values["--svg"];
  return take_all(values, options);
}

Status parse_tune_options(int argc, char** argv, BenchOptions* options) {
  Values values = kCommon;
  values.insert(kOfTune.begin(), kOfTune.end());
  Words given;
  if (Status status = read(argc, argv, {}, &values, &given); !status) return status;
  fill_in(kTuning, &values);
  options->table = values["--file"];
  return take_all(values, options);
}

}  // namespace nccl_slab::tool
