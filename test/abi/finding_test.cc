// Every way by which a program reaches NCCL that a preload or a drop-in can serve, and every way to get it
// wrong: finding nothing, itself, another nccl-slab, or the other one of two copies. Each case runs a program
// of its own (opener.cc, or needs_nccl.cc linked to NCCL) and reads what it tells.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace {

namespace fs = std::filesystem;

std::string file_of(const char* variable) {
  const char* value = std::getenv(variable);
  EXPECT_NE(value, nullptr) << variable << " is set by meson.build";
  return value == nullptr ? "" : value;
}

const std::string preload() {
  return file_of("ABI_PRELOAD");
}
const std::string drop_in() {
  return file_of("ABI_DROP_IN");
}
const std::string nccl_a() {
  return file_of("ABI_NCCL_A");
}
const std::string nccl_b() {
  return file_of("ABI_NCCL_B");
}
const std::string nccl_old() {
  return file_of("ABI_NCCL_OLD");
}
const std::string opener() {
  return file_of("ABI_OPENER");
}
const std::string linked() {
  return file_of("ABI_LINKED");
}
const std::string needs_a() {
  return file_of("ABI_NEEDS_A");
}
const std::string needs_b() {
  return file_of("ABI_NEEDS_B");
}
const std::string interposer() {
  return file_of("ABI_INTERPOSER");
}

std::string folder_of(const std::string& file) {
  return fs::path(file).parent_path();
}

struct Told {
  std::string out, errors;
  int exit_status = -1;
};

std::string contents(const fs::path& file) {
  std::string text;
  if (std::FILE* stream = std::fopen(file.c_str(), "r")) {
    std::array<char, 4096> part{};
    while (const size_t got = std::fread(part.data(), 1, part.size(), stream)) text.append(part.data(), got);
    std::fclose(stream);
  }
  return text;
}

class Finding : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "nccl-slab-finding-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  // Runs a shell command with just the variables given (and PATH); bounded by timeout(1).
  Told run(const std::map<std::string, std::string>& variables, const std::string& command) {
    std::string line = "env -i PATH=\"$PATH\" ";
    for (const auto& [name, value] : variables) line += name + "='" + value + "' ";
    line +=
        "timeout 30 " + command + " >" + (folder_ / "out").string() + " 2>" + (folder_ / "errors").string();
    const int status = std::system(line.c_str());
    return {contents(folder_ / "out"), contents(folder_ / "errors"),
            WIFEXITED(status) ? WEXITSTATUS(status) : -1};
  }

  fs::path copy(const std::string& file, const std::string& to) {
    fs::create_directories((folder_ / to).parent_path());
    fs::copy_file(file, folder_ / to);
    return folder_ / to;
  }

  fs::path folder_;
};

const std::string kServedByA = "version 0=23203 init 0 reduce-scatter 0 destroy 0\n";
const std::string kServedByB = "version 0=22809 init 0 reduce-scatter 0 destroy 0\n";
const std::string kHandled = "engine enter 0/2;begin 0/2 on 0;forward empty;end;\n";
const std::string kHandledTwice =
    "engine enter 0/2;begin 0/2 on 0;forward empty;end;enter 0/2;begin 0/2 on 0;forward empty;end;\n";
const std::string kNoNccl = "version 2=0 init 2 reduce-scatter 2 destroy 2\n";
const std::string kUntouched = "engine \n";

TEST_F(Finding, WithoutUsNothingIsHandled) {
  EXPECT_EQ(run({}, opener() + " needs " + needs_a()).out, kServedByA + "engine absent\n");
}

TEST_F(Finding, PreloadAndALinkedProgram) {
  const Told told = run({{"LD_PRELOAD", preload()}, {"NCCL_SLAB_DEBUG", "INFO"}}, linked());
  EXPECT_EQ(told.out, kServedByA);
  EXPECT_NE(told.errors.find("NCCL: " + nccl_a()), std::string::npos) << told.errors;
}

// RTLD_NEXT finds nothing here: the library and its NCCL are in a scope of their own.
TEST_F(Finding, PreloadAndALibraryOpenedLocally) {
  EXPECT_EQ(run({{"LD_PRELOAD", preload()}}, opener() + " needs " + needs_a()).out, kServedByA + kHandled);
}

TEST_F(Finding, PreloadAndTwoCopiesFollowTheirCallers) {
  EXPECT_EQ(run({{"LD_PRELOAD", preload()}}, opener() + " needs " + needs_a() + " " + needs_b()).out,
            kServedByA + kServedByB + kHandledTwice);
}

TEST_F(Finding, CallsFollowTheCommunicatorNotTheirCaller) {
  const Told told = run({{"LD_PRELOAD", preload()}}, opener() + " mixed " + needs_a() + " " + needs_b());
  EXPECT_EQ(told.out,
            "0\n0\nengine enter 0/2;begin 0/2 on 0;forward empty;enter 0/2;begin 0/2 on 0;forward empty;\n");
}

TEST_F(Finding, DropInOpenedByItsPath) {
  EXPECT_EQ(run({{"NCCL_SLAB_NCCL_LIB", nccl_b()}}, opener() + " ctypes " + drop_in()).out,
            kServedByB + kHandled);
}

TEST_F(Finding, DropInOpenedByNameFindsTheNextOneOnThePath) {
  const std::string path = folder_of(drop_in()) + ":" + folder_of(nccl_a());
  EXPECT_EQ(run({{"LD_LIBRARY_PATH", path}}, opener() + " ctypes libnccl.so.2").out, kServedByA + kHandled);
}

TEST_F(Finding, DropInTakesTheCopyThatIsLoadedAlready) {
  EXPECT_EQ(run({}, opener() + " ctypes " + drop_in() + " " + needs_b()).out, kServedByB + kHandled);
}

TEST_F(Finding, DropInInPlaceOfALinkedLibrary) {
  const std::string path = folder_of(drop_in()) + ":" + folder_of(nccl_a());
  EXPECT_EQ(run({{"LD_LIBRARY_PATH", path}}, opener() + " needs " + needs_a()).out, kServedByA + kHandled);
}

TEST_F(Finding, BesideALoadedPyTorch) {
  const auto torch = copy(interposer(), "site-packages/torch/lib/libtorch_cuda.so");
  copy(nccl_b(), "site-packages/nvidia/nccl/lib/libnccl.so.2");
  EXPECT_EQ(run({}, opener() + " ctypes " + drop_in() + " " + torch.string()).out, kServedByB + kHandled);
}

TEST_F(Finding, AmongThePackagesOfTheRunningPython) {
  const auto extension = copy(interposer(), "lib/python3.9/lib-dynload/_ctypes.so");
  copy(nccl_b(), "lib/python3.9/site-packages/nvidia/nccl/lib/libnccl.so.2");
  EXPECT_EQ(run({}, opener() + " ctypes " + drop_in() + " " + extension.string()).out, kServedByB + kHandled);
}

TEST_F(Finding, InTheVirtualEnvironmentOfTheRunningPython) {
  const auto extension = copy(interposer(), "base/lib/python3.9/lib-dynload/_ctypes.so");
  copy(nccl_b(), "venv/lib/python3.9/site-packages/nvidia/nccl/lib/libnccl.so.2");
  EXPECT_EQ(
      run({{"VIRTUAL_ENV", folder_ / "venv"}}, opener() + " ctypes " + drop_in() + " " + extension.string())
          .out,
      kServedByB + kHandled);
}

// The launcher sets both: the preload came first and handles, once, whichever way the calls come.
TEST_F(Finding, PreloadAndDropInHandleOnce) {
  const std::string path = folder_of(drop_in()) + ":" + folder_of(nccl_a());
  const std::map<std::string, std::string> both = {{"LD_PRELOAD", preload()}, {"LD_LIBRARY_PATH", path}};
  EXPECT_EQ(run(both, opener() + " needs " + needs_a()).out, kServedByA + kHandled);
  EXPECT_EQ(run(both, opener() + " ctypes " + drop_in()).out, kServedByA + kHandled);
  EXPECT_EQ(run(both, opener() + " ctypes " + drop_in() + " " + needs_b()).out, kServedByB + kHandled);
}

TEST_F(Finding, PreloadedTwice) {
  const std::string twin = copy(preload(), "twin.so");
  const std::string link = folder_ / "link.so";
  fs::create_symlink(preload(), link);
  EXPECT_EQ(run({{"LD_PRELOAD", preload() + ":" + twin}}, opener() + " needs " + needs_a()).out,
            kServedByA + kHandled);
  EXPECT_EQ(run({{"LD_PRELOAD", preload() + ":" + link}}, opener() + " needs " + needs_a()).out,
            kServedByA + kHandled);
}

TEST_F(Finding, TwoDropIns) {
  const std::string twin = copy(drop_in(), "twin/libnccl.so.2");
  EXPECT_EQ(run({{"NCCL_SLAB_NCCL_LIB", nccl_a()}}, opener() + " ctypes " + drop_in() + " " + twin).out,
            kServedByA + "engine \n");
  EXPECT_EQ(run({{"LD_LIBRARY_PATH", folder_of(twin) + ":" + folder_of(nccl_a())}},
                opener() + " ctypes " + drop_in())
                .out,
            kServedByA + kHandled);
}

TEST_F(Finding, AChoiceBesideTheProgramsOwnNcclIsWarnedOf) {
  const Told told = run({{"LD_PRELOAD", preload()}, {"NCCL_SLAB_NCCL_LIB", nccl_b()}}, linked());
  EXPECT_NE(told.errors.find("is not the NCCL of the program, " + nccl_a()), std::string::npos)
      << told.errors;
  EXPECT_EQ(run({{"LD_PRELOAD", preload()}, {"NCCL_SLAB_NCCL_LIB", nccl_a()}}, linked()).errors, "");
}

TEST_F(Finding, NeverItself) {
  const std::string link = folder_ / "libnccl.so.2";
  fs::create_symlink(drop_in(), link);
  for (const std::string& itself : {drop_in(), link, copy(drop_in(), "twin/libnccl.so.2").string()}) {
    const Told told = run({{"NCCL_SLAB_NCCL_LIB", itself}}, opener() + " ctypes " + drop_in());
    EXPECT_EQ(told.out, kNoNccl + kUntouched) << itself;
    EXPECT_NE(told.errors.find("NCCL_SLAB_NCCL_LIB: " + itself), std::string::npos) << told.errors;
    EXPECT_EQ(std::count(told.errors.begin(), told.errors.end(), '\n'), 1) << told.errors;
  }
}

TEST_F(Finding, WhatTheUserNamesIsTheOnlyChoice) {
  for (const char* variable : {"LD_PRELOAD", "UNUSED"}) {
    const Told told = run({{variable, preload()}, {"NCCL_SLAB_NCCL_LIB", "/no/such/libnccl.so.2"}},
                          opener() + " ctypes " + drop_in());
    EXPECT_EQ(told.out, kNoNccl + kUntouched);
    EXPECT_NE(told.errors.find("/no/such/libnccl.so.2"), std::string::npos) << told.errors;
  }
}

// A machine that has an NCCL of its own needs another cache of the loader for this, which root may mount.
TEST_F(Finding, NothingAtAllIsAnErrorAndOneLine) {
  std::string hidden;
  if (std::system("ldconfig -p | grep -q libnccl.so.2") == 0) {
    const std::string script = folder_ / "hidden.sh";
    std::ofstream(script) << "mount --bind /dev/null /etc/ld.so.cache || exit 99\nexec \"$@\"\n";
    hidden = "unshare -m sh " + script + " ";
    if (run({}, hidden + "true").exit_status != 0) GTEST_SKIP() << "NCCL is installed and cannot be hidden";
  }
  const Told told = run({{"LD_LIBRARY_PATH", folder_}}, hidden + opener() + " ctypes " + drop_in());
  EXPECT_EQ(told.out, kNoNccl + kUntouched);
  EXPECT_EQ(std::count(told.errors.begin(), told.errors.end(), '\n'), 1) << told.errors;
  for (const char* place :
       {"no libnccl is loaded", "beside PyTorch", "LD_LIBRARY_PATH", "Python", "cache", "default"})
    EXPECT_NE(told.errors.find(place), std::string::npos) << place << " in " << told.errors;
  EXPECT_EQ(run({{"LD_PRELOAD", preload()}}, hidden + opener() + " scope").out, "init 2\n" + kUntouched);
}

TEST_F(Finding, AnOldNcclAnswersWhatItHasAndTheRestFailsClearly) {
  const Told told = run({{"NCCL_SLAB_NCCL_LIB", nccl_old()}}, opener() + " lacks " + drop_in());
  EXPECT_EQ(told.out,
            "team 0 0 0\nall-to-all 5\nrank 0\ntext this NCCL lacks the function (nccl-slab)\nshrink 5\n"
            "engine enter 0/2;begin 0/2 on 0;shrink #0 of 4 bytes;enter 0/2;leave;\n");
  EXPECT_NE(told.errors.find("has no ncclTeamWorld"), std::string::npos) << told.errors;
  EXPECT_NE(told.errors.find("has no ncclCommShrink"), std::string::npos) << told.errors;
}

TEST_F(Finding, SwitchedOffNothingIsHandled) {
  EXPECT_EQ(run({{"LD_PRELOAD", preload()}, {"NCCL_SLAB_ENABLE", "0"}}, opener() + " needs " + needs_a()).out,
            kServedByA + kUntouched);
  EXPECT_EQ(
      run({{"NCCL_SLAB_NCCL_LIB", nccl_a()}, {"NCCL_SLAB_ENABLE", "0"}}, opener() + " ctypes " + drop_in())
          .out,
      kServedByA + kUntouched);
}

TEST_F(Finding, BesideAnotherInterposer) {
  for (const std::string& order : {interposer() + ":" + preload(), preload() + ":" + interposer()}) {
    const Told told = run({{"LD_PRELOAD", order}}, linked());
    EXPECT_EQ(told.out, kServedByA) << order;
    EXPECT_EQ(told.errors, "interposed\n") << order;
  }
}

// Allocators and sanitizers that replace malloc in front of us; those that this machine has.
TEST_F(Finding, BesideOtherAllocators) {
  const Told asan = run({}, "g++ -print-file-name=libasan.so");
  const std::string folder = "/usr/lib/x86_64-linux-gnu/";
  int tried = 0;
  for (const std::string& library : {asan.out.substr(0, asan.out.find('\n')), folder + "libjemalloc.so.2",
                                     folder + "libtcmalloc_minimal.so.4", folder + "libmimalloc.so.2"}) {
    if (!fs::is_regular_file(library)) continue;
    ++tried;
    const Told told = run({{"LD_PRELOAD", library + ":" + preload()}, {"ASAN_OPTIONS", "detect_leaks=0"}},
                          opener() + " needs " + needs_a());
    EXPECT_EQ(told.out, kServedByA + kHandled) << library << ": " << told.errors;
  }
  if (tried == 0) GTEST_SKIP() << "none is installed";
}

// In a process without NCCL the libraries do nothing.
TEST_F(Finding, NothingHappensAtLoadTime) {
  const std::string plain = run({}, opener() + " idle").out;
  EXPECT_EQ(plain.find("threads 1 "), 0u) << plain;
  for (const std::string& library : {file_of("ABI_REAL_PRELOAD"), file_of("ABI_REAL_DROP_IN")}) {
    EXPECT_EQ(run({{"LD_PRELOAD", library}}, opener() + " idle").out, plain);
    const Told told = run({{"LD_PRELOAD", library}, {"NCCL_SLAB_DEBUG", "TRACE"}, {"NCCL_SLAB_STATS", "1"}},
                          "bash -c '(echo inner; exit 3); echo \"$?\"; echo late >&2; exit 7'");
    EXPECT_EQ(told.out, "inner\n3\n");
    EXPECT_EQ(told.errors, "late\n");
    EXPECT_EQ(told.exit_status, 7);
  }
}

// Nor in what builds programs: a compiler and what it starts, a build tool, an interpreter.
TEST_F(Finding, ToolsGoOnAsBefore) {
  std::ofstream(folder_ / "build.ninja") << "rule cxx\n command = g++ -o $out $in\nbuild one: cxx one.cc\n";
  std::ofstream(folder_ / "one.cc") << "int main() { return 3; }\n";
  std::ofstream(folder_ / "script")
      << "cd " << folder_.string() << " && rm -f one && ninja -v one && ./one; echo $?\n"
      << "python3 -c 'import subprocess; print(subprocess.run([\"sh\", \"-c\", \"exit 5\"]).returncode)'\n";
  const std::string script = "sh " + (folder_ / "script").string();
  const Told plain = run({}, script);
  EXPECT_NE(plain.out.find("\n3\n5\n"), std::string::npos) << plain.out << plain.errors;
  for (const std::string& library : {file_of("ABI_REAL_PRELOAD"), file_of("ABI_REAL_DROP_IN")}) {
    const Told told = run({{"LD_PRELOAD", library}, {"NCCL_SLAB_DEBUG", "TRACE"}}, script);
    EXPECT_EQ(told.out, plain.out);
    EXPECT_EQ(told.errors, plain.errors);
  }
}

}  // namespace
