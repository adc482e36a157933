#include "tool/run_options.h"

#include <string_view>

#include "tool/wrong_usage.h"

namespace nccl_slab::tool {
namespace {

constexpr std::string_view kMachine = "--machine=";

// Takes the option at argv[*index] and moves behind it.
Status take_option(char** argv, int* index, RunOptions* options) {
  const std::string_view word = argv[(*index)++];
  if (word == "-v" || word == "--verbose") {
    options->verbose = true;
  } else if (word == "--plain") {
    options->plain = true;
  } else if (word.starts_with(kMachine)) {
    options->machine = word.substr(kMachine.size());
  } else if (word == "--machine" && argv[*index] != nullptr) {
    options->machine = argv[(*index)++];
  } else {
    return unknown_option(std::string(word));
  }
  return Status::ok();
}

}  // namespace

Status parse_run_options(int argc, char** argv, RunOptions* options) {
  int index = 1;
  while (index < argc && argv[index][0] == '-' && std::string_view(argv[index]) != "--")
    if (Status status = take_option(argv, &index, options); !status) return status;
  if (index < argc && std::string_view(argv[index]) == "--") ++index;
  if (index >= argc) return Status::error("no program is named");
  options->program = argv + index;
  if (options->plain && options->machine.empty())
    return Status::error(
        "--plain is for an emulated machine (--machine); without one, start the program itself");
  return Status::ok();
}

}  // namespace nccl_slab::tool
