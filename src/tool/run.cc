#include "tool/run.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/owned_fd.h"
#include "tool/child.h"
#include "tool/layout.h"
#include "tool/run_environment.h"
#include "tool/run_options.h"
#include "tool/seen_calls.h"
#include "tool/wrong_usage.h"

namespace nccl_slab::tool {
namespace {

// As env(1): the tool itself failed, the program cannot be executed, the program was not found.
constexpr int kFailed = 125, kCannotExecute = 126, kNotFound = 127;

int fail(const Status& status, int exit_status) {
  std::fprintf(stderr, "nccl-slab run: %s\n", status.what().c_str());
  return exit_status;
}

const char* process_environment(const char* variable) {
  return std::getenv(variable);
}

Status refuse_nesting() {
  const char* preload = std::getenv("LD_PRELOAD");
  if (preload == nullptr || !preloads_us(preload)) return Status::ok();
  return Status::error(std::string("this runs under nccl-slab already (LD_PRELOAD=") + preload +
                       "); start the program itself");
}

Status resolve_machine(const Layout& layout, const RunOptions& options, std::string* file) {
  if (options.machine.empty()) return Status::ok();
  constexpr bool kEmulated = NCCL_SLAB_IS_EMULATED;
  if (!kEmulated) return Status::error("--machine needs the emulated flavour; this installation is for GPUs");
  return find_machine_file(layout, options.machine, file);
}

// Where the processes of one emulated machine meet. The file is made empty here, so that it is this run's
// alone.
Status make_state_file(std::string* path) {
  const char* folder = std::getenv("TMPDIR");
  *path = std::string(folder == nullptr || *folder == '\0' ? "/tmp" : folder) + "/nccl-slab-machine-XXXXXX";
  const OwnedFd file(::mkostemp(path->data(), O_CLOEXEC));
  if (file) return Status::ok();
  return Status::error("cannot make " + *path + ": " + std::strerror(errno));
}

void set_variables(const Variables& variables, bool verbose) {
  for (const auto& [name, value] : variables) {
    ::setenv(name.c_str(), value.c_str(), 1);
    if (verbose) std::fprintf(stderr, "nccl-slab run: %s=%s\n", name.c_str(), value.c_str());
  }
}

int become(char** program) {
  ::execvp(program[0], program);
  const int error = errno;
  return fail(Status::error(std::string(program[0]) + ": " + std::strerror(error)),
              error == ENOENT ? kNotFound : kCannotExecute);
}

// The machine's state is removed, and the calls are counted, when the program has ended: somebody has to stay.
int run_and_stay(const Layout& layout, const RunOptions& options, const std::string& machine_file) {
  std::string state;
  CallCounter counter;
  if (!machine_file.empty())
    if (Status status = make_state_file(&state); !status) return fail(status, kFailed);
  if (options.verbose && !options.plain)
    if (Status status = counter.open(); !status) return fail(status, kFailed);
  set_variables(run_environment(layout, options, machine_file, state, &process_environment), options.verbose);
  const int exit_status = run_child([&] { return become(options.program); });
  if (!state.empty()) (void)::unlink(state.c_str());
  if (counter.counts()) std::fprintf(stderr, "nccl-slab run: %s\n", sentence(counter.seen()).c_str());
  return exit_status;
}

}  // namespace

int run_command(int argc, char** argv) {
  RunOptions options;
  Layout layout;
  std::string machine_file;
  if (Status status = parse_run_options(argc, argv, &options); !status) return wrong_usage(kRunUsage, status);
  if (Status status = refuse_nesting(); !status) return fail(status, kFailed);
  if (Status status = find_layout(&layout); !status) return fail(status, kFailed);
  if (Status status = resolve_machine(layout, options, &machine_file); !status) return fail(status, kFailed);
  if (!machine_file.empty() || options.verbose) return run_and_stay(layout, options, machine_file);
  set_variables(run_environment(layout, options, "", "", &process_environment), options.verbose);
  return become(options.program);
}

}  // namespace nccl_slab::tool
