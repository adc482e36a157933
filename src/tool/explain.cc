#include "tool/explain.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "tool/explain_report.h"
#include "tool/wrong_usage.h"

namespace nccl_slab::tool {
namespace {

constexpr std::uint64_t kMostElements = 1ull << 40;

struct Arguments {
  std::string machine, ranks, dtype = "bf16", count_text;
  std::uint64_t count = 0;
  bool json = false, sweep = false;
};

bool parse_number(std::string_view text, std::uint64_t* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

// The value of --name=value, or of --name value.
bool take(int argc, char** argv, int* at, std::string_view name, std::string* value) {
  const std::string_view argument = argv[*at];
  if (argument == name && *at + 1 < argc) {
    *value = argv[++*at];
    return true;
  }
  if (!argument.starts_with(name) || !argument.substr(name.size()).starts_with("=")) return false;
  *value = argument.substr(name.size() + 1);
  return true;
}

bool is_flag(std::string_view word, std::string_view flag, bool* set) {
  if (word == flag) *set = true;
  return word == flag;
}

bool parse_one(int argc, char** argv, int* at, Arguments* arguments) {
  return take(argc, argv, at, "--machine", &arguments->machine) ||
         take(argc, argv, at, "--ranks", &arguments->ranks) ||
         take(argc, argv, at, "--dtype", &arguments->dtype) ||
         take(argc, argv, at, "--count", &arguments->count_text) ||
         is_flag(argv[*at], "--json", &arguments->json) || is_flag(argv[*at], "--sweep", &arguments->sweep);
}

Status parse_count(Arguments* arguments) {
  const bool good = parse_number(arguments->count_text, &arguments->count) && arguments->count > 0 &&
                    arguments->count <= kMostElements;
  return good ? Status::ok()
              : wrong_value("--count", arguments->count_text,
                            "elements of a shard, from 1 to " + std::to_string(kMostElements));
}

Status parse(int argc, char** argv, Arguments* arguments) {
  for (int at = 1; at < argc; ++at)
    if (!parse_one(argc, argv, &at, arguments)) return unknown_option(argv[at]);
  if (arguments->machine.empty()) return Status::error("no machine is named");
  if (element_bytes(arguments->dtype) == 0)
    return wrong_value("--dtype", arguments->dtype, "bf16, fp16 or fp32");
  if (arguments->sweep == !arguments->count_text.empty())
    return Status::error("either --count or --sweep is needed");
  if (arguments->sweep && arguments->json) return Status::error("--json is for --count");
  return arguments->sweep ? Status::ok() : parse_count(arguments);
}

// "4": GPUs 0 to 3. "0,2,4,6": these. Empty: all of the machine.
bool parse_ranks(const std::string& text, int gpu_count, std::vector<int>* gpus) {
  std::uint64_t value = static_cast<std::uint64_t>(gpu_count);
  if (text.empty() || (text.find(',') == std::string::npos && parse_number(text, &value))) {
    gpus->resize(value > 64 ? 65 : value);  // refused later, by a better sentence
    std::iota(gpus->begin(), gpus->end(), 0);
    return true;
  }
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (!parse_number(std::string_view(text).substr(begin, end - begin), &value) || value > 1000)
      return false;
    gpus->push_back(static_cast<int>(value));
    begin = end + 1;
  }
  return true;
}

Status make_text(const Arguments& arguments, const ExplainMachine& machine, const std::vector<int>& gpus,
                 std::string* text) {
  if (arguments.sweep) return sweep_table(machine, gpus, text);
  ExplainReport report;
  if (Status status = explain(machine, gpus, arguments.dtype, arguments.count, &report); !status)
    return status;
  *text = arguments.json ? as_json(report) : as_text(report);
  return Status::ok();
}

int failed(const Status& status) {
  std::fprintf(stderr, "nccl-slab explain: %s\n", status.what().c_str());
  return 1;
}

}  // namespace

int explain_command(int argc, char** argv) {
  Arguments arguments;
  if (const Status status = parse(argc, argv, &arguments); !status) return wrong_usage(kExplainUsage, status);
  ExplainMachine machine;
  if (const Status status = load_explain_machine(arguments.machine, &machine); !status) return failed(status);
  std::vector<int> gpus;
  if (!parse_ranks(arguments.ranks, machine.links.gpu_count(), &gpus))
    return wrong_usage(kExplainUsage,
                       wrong_value("--ranks", arguments.ranks, "a number, or GPUs as in 0,2,4"));
  std::string text;
  if (const Status status = make_text(arguments, machine, gpus, &text); !status) return failed(status);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

}  // namespace nccl_slab::tool
