#include "tool/run_environment.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace nccl_slab::tool {
namespace {

const Layout kLayout = {"/o/lib/libnccl-slab.so",        "/o/lib/nccl-slab",
                        "/o/lib/nccl-slab/libnccl.so.2", "/o/lib/emulated",
                        "/o/share/nccl-slab/machines",   "/o/libexec/nccl-slab/reduce_scatter_bench"};

const char* empty(const char*) {
  return nullptr;
}
const char* full(const char* variable) {
  return std::string(variable) == "LD_PRELOAD" ? "libjemalloc.so" : "/their/lib";
}

std::map<std::string, std::string> environment(const RunOptions& options, bool on_machine,
                                               const char* (*before)(const char*)) {
  const Variables variables = run_environment(kLayout, options, on_machine ? "/m/8.machine" : "",
                                              on_machine ? "/tmp/state" : "", before);
  std::map<std::string, std::string> result(variables.begin(), variables.end());
  EXPECT_EQ(result.size(), variables.size()) << "each variable is set once";
  return result;
}

using Map = std::map<std::string, std::string>;

TEST(RunEnvironment, AProgramOnThisMachine) {
  EXPECT_EQ(environment({}, false, &empty), (Map{{"LD_PRELOAD", "/o/lib/libnccl-slab.so"},
                                                 {"LD_LIBRARY_PATH", "/o/lib/nccl-slab"},
                                                 {"VLLM_NCCL_SO_PATH", "/o/lib/nccl-slab/libnccl.so.2"},
                                                 {"SGLANG_NCCL_SO_PATH", "/o/lib/nccl-slab/libnccl.so.2"}}));
}

TEST(RunEnvironment, WhatWasSetStaysBehindOurs) {
  Map variables = environment({}, false, &full);
  EXPECT_EQ(variables["LD_PRELOAD"], "/o/lib/libnccl-slab.so:libjemalloc.so");
  EXPECT_EQ(variables["LD_LIBRARY_PATH"], "/o/lib/nccl-slab:/their/lib");
}

TEST(RunEnvironment, AnEmulatedMachineComesBeforeTheRealOne) {
  Map variables = environment({}, true, &full);
  EXPECT_EQ(variables["LD_LIBRARY_PATH"], "/o/lib/nccl-slab:/o/lib/emulated:/their/lib");
  EXPECT_EQ(variables["NCCL_SLAB_MACHINE"], "/m/8.machine");
  EXPECT_EQ(variables["NCCL_SLAB_MACHINE_STATE"], "/tmp/state");
}

TEST(RunEnvironment, AnEmulatedMachineIsGivenTimeUnlessTheUserSaysHowMuch) {
  EXPECT_EQ(environment({}, true, &empty).at("NCCL_SLAB_SETUP_TIMEOUT"), "60000");
  EXPECT_EQ(environment({}, true, &full).count("NCCL_SLAB_SETUP_TIMEOUT"), 0u);
  EXPECT_EQ(environment({}, false, &empty).count("NCCL_SLAB_SETUP_TIMEOUT"), 0u);
}

TEST(RunEnvironment, PlainIsTheEmulatedMachineAlone) {
  RunOptions options;
  options.plain = true;
  EXPECT_EQ(environment(options, true, &full), (Map{{"LD_LIBRARY_PATH", "/o/lib/emulated:/their/lib"},
                                                    {"NCCL_SLAB_MACHINE", "/m/8.machine"},
                                                    {"NCCL_SLAB_MACHINE_STATE", "/tmp/state"}}));
}

TEST(RunEnvironment, KnowsItselfInAPreloadList) {
  EXPECT_TRUE(preloads_us("/a/libnccl-slab.so"));
  EXPECT_TRUE(preloads_us("libx.so:/a b/c/libnccl-slab.so"));
  EXPECT_TRUE(preloads_us("libx.so libnccl-slab.so libz.so"));
  EXPECT_FALSE(preloads_us(""));
  EXPECT_FALSE(preloads_us("/libnccl-slab.so/other.so:libnccl-slab.so.bak"));
}

}  // namespace
}  // namespace nccl_slab::tool
