#include "tool/topo.h"

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tool/topo_report.h"
#include "tool/wrong_usage.h"
#include "topology/discover.h"
#include "topology/topology_file.h"

namespace nccl_slab::tool {
namespace {

struct Arguments {
  bool json = false;
  std::vector<std::string> files{};
};

Status parse(int argc, char** argv, Arguments* arguments) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--json")
      arguments->json = true;
    else if (argument == "--file" && i + 1 < argc)
      arguments->files.emplace_back(argv[++i]);
    else if (argument.starts_with("--file=") && argument.size() > 7)
      arguments->files.emplace_back(argument.substr(7));
    else
      return unknown_option(argv[i]);
  }
  return Status::ok();
}

TopoReport live_report() {
  topology::Sources sources;
  sources.verbs = "libibverbs.so.1";
  topology::Machine machine = topology::discover_all(sources);
  std::string problem = machine.gpus.empty() ? "no NVIDIA GPU was found through sysfs or NVML" : "";
  return make_topo_report(std::move(machine), std::move(problem));
}

TopoReport file_report(std::string_view text) {
  topology::Machine machine;
  const Status status = topology::parse_topology(text, &machine);
  return make_topo_report(std::move(machine), status ? "" : status.what());
}

void print(const TopoReport& report, bool json) {
  const std::string text = json ? as_json(report) : as_text(report);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

int print_file(const std::string& path, const Arguments& arguments) {
  std::string text;
  if (const Status status = topology::read_text_file(path, &text); !status) {
    std::fprintf(stderr, "nccl-slab topo: %s\n", status.what().c_str());
    return 1;
  }
  if (arguments.files.size() > 1 && !arguments.json) std::printf("file: %s\n", path.c_str());
  print(file_report(text), arguments.json);
  return 0;
}

}  // namespace

int topo_command(int argc, char** argv) {
  Arguments arguments;
  if (const Status status = parse(argc, argv, &arguments); !status) return wrong_usage(kTopoUsage, status);
  int worst = 0;
  for (const std::string& path : arguments.files)
    if (print_file(path, arguments) != 0) worst = 1;
  if (arguments.files.empty()) print(live_report(), arguments.json);
  return worst;
}

}  // namespace nccl_slab::tool
