// The command as a user meets it: a copy of the tool in an installation of stand-ins, run through the shell.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace {

namespace fs = std::filesystem;

struct Told {
  std::string out, errors;
  int exit_status = -1;
};

std::string contents(const fs::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

class Command : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "nccl-slab-command-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    install(std::getenv("TOOL"), "bin/nccl-slab");
    install(std::getenv("TOOL_LIBRARY"), "lib/libnccl-slab.so");
    install(std::getenv("TOOL_LIBRARY"), "lib/nccl-slab/libnccl.so.2");
    fs::create_directories(folder_ / "share/nccl-slab/machines");
    std::ofstream(folder_ / "share/nccl-slab/machines/two.machine") << "machine\n";
    std::ofstream(folder_ / "not-executable") << "text\n";
  }
  void TearDown() override { fs::remove_all(folder_); }

  void install(const char* file, const char* to) {
    ASSERT_NE(file, nullptr) << "set by meson.build";
    fs::create_directories((folder_ / to).parent_path());
    fs::copy_file(file, folder_ / to);
  }

  // `command` with NCCL_SLAB as the tool.
  Told run(const std::string& command) {
    std::ofstream(folder_ / "script") << "ulimit -c 0\n" << command << "\n";
    const std::string line = "cd '" + folder_.string() +
                             "' && env -u LD_PRELOAD -u LD_LIBRARY_PATH TMPDIR='" + folder_.string() +
                             "' NCCL_SLAB=./bin/nccl-slab timeout 30 sh script >out 2>errors";
    const int status = std::system(line.c_str());
    return {contents(folder_ / "out"), contents(folder_ / "errors"),
            WIFEXITED(status) ? WEXITSTATUS(status) : -1};
  }

  fs::path folder_;
};

TEST_F(Command, TellsItsVersionAndItsCommands) {
  EXPECT_EQ(run("$NCCL_SLAB --version").out.rfind("nccl-slab ", 0), 0u);
  const Told help = run("$NCCL_SLAB --help");
  EXPECT_EQ(help.exit_status, 0);
  for (const char* word : {"run ", "env ", "--machine"})
    EXPECT_NE(help.out.find(word), std::string::npos) << word;
  for (const char* word : {"run", "env", "bench", "doctor", "explain", "tune", "topo"}) {
    const Told usage = run(std::string("$NCCL_SLAB ") + word + " --help");
    EXPECT_EQ(usage.exit_status, 0) << word;
    EXPECT_EQ(usage.out.rfind(std::string("usage: nccl-slab ") + word, 0), 0u) << usage.out;
  }
  EXPECT_EQ(run("$NCCL_SLAB").exit_status, 2);
  EXPECT_EQ(run("$NCCL_SLAB frobnicate").exit_status, 2);
  EXPECT_EQ(run("$NCCL_SLAB frobnicate").out, "");
}

// One line that says what is wrong and what was expected, then the usage.
TEST_F(Command, AWrongWordIsNamed) {
  const std::pair<const char*, const char*> wrong[] = {
      {"env --yaml", "unknown option, or one without its value: --yaml"},
      {"doctor now", "unknown option, or one without its value: now"},
      {"topo --file", "unknown option, or one without its value: --file"},
      {"explain", "no machine is named"},
      {"explain --machine m", "either --count or --sweep is needed"},
      {"explain --machine m --count 0", "--count cannot be '0'; expected elements of a shard, from 1 to"},
      {"explain --machine m --count=-1", "--count cannot be '-1'"},
      {"explain --machine m --count 8 --dtype int8", "--dtype cannot be 'int8'; expected bf16, fp16 or fp32"},
      {"explain --machine m --sweep --json", "--json is for --count"},
      {"bench --ranks 1", "--ranks cannot be '1'; expected 2 to 16"},
      {"bench --transport pcie", "--transport cannot be 'pcie'; expected auto, peer, host"},
      {"bench --sizes 1K,2G", "--sizes cannot be '2G'; expected bytes of a shard, K or M behind them"},
      {"bench --sizes 1K,,2K", "--sizes cannot be ''"},
      {"tune --sizes 0", "--sizes cannot be '0'"},
      {"tune --sizes 99999999999999999999", "--sizes cannot be '99999999999999999999'"},
      {"tune --sizes 4097M", "--sizes cannot be '4097M'"},
      {"tune --budget forever", "--budget cannot be 'forever'; expected 1 to 1000000"},
      {"run --fast true", "unknown option, or one without its value: --fast"}};
  for (const auto& [line, complaint] : wrong) {
    const std::string name = std::string(line).substr(0, std::string(line).find(' '));
    const Told told = run(std::string("$NCCL_SLAB ") + line);
    EXPECT_EQ(told.exit_status, 2) << line;
    EXPECT_EQ(told.out, "") << line;
    EXPECT_EQ(told.errors.rfind("nccl-slab " + name + ": " + complaint, 0), 0u) << told.errors;
    EXPECT_NE(told.errors.find("\nusage: nccl-slab " + name), std::string::npos) << told.errors;
  }
}

TEST_F(Command, RunBecomesTheProgram) {
  const Told told = run("$NCCL_SLAB run -- sh -c 'echo $LD_PRELOAD; exit 9'");
  EXPECT_EQ(told.out, (folder_ / "lib/libnccl-slab.so\n").string());
  EXPECT_EQ(told.errors, "");
  EXPECT_EQ(told.exit_status, 9);
  EXPECT_EQ(run("$NCCL_SLAB run sh -c 'kill -TERM $$' ; echo $?").out, "143\n");
  EXPECT_EQ(run("exec 3<&0; echo in | $NCCL_SLAB run cat").out, "in\n");
}

TEST_F(Command, RunSaysWhatItDidOnStandardErrorAlone) {
  const Told told = run("$NCCL_SLAB run -v echo hello");
  EXPECT_EQ(told.out, "hello\n");
  for (const char* variable :
       {"LD_PRELOAD=", "LD_LIBRARY_PATH=", "VLLM_NCCL_SO_PATH=", "SGLANG_NCCL_SO_PATH="})
    EXPECT_NE(told.errors.find(variable), std::string::npos) << variable;
}

TEST_F(Command, RunCountsTheCallsThatWereSeen) {
  const std::string none = "nccl-slab run: 0 calls seen";
  EXPECT_NE(run("$NCCL_SLAB run -v true").errors.find(none), std::string::npos);
  EXPECT_EQ(run("$NCCL_SLAB run -v sh -c 'exit 4'").exit_status, 4);
  const Told told = run("$NCCL_SLAB run -v sh -c 'dirname $NCCL_SLAB_STATS_FILE'");
  EXPECT_FALSE(fs::exists(told.out.substr(0, told.out.find('\n')))) << "the folder is left behind";
  const Told chosen = run("NCCL_SLAB_STATS_FILE=mine $NCCL_SLAB run -v sh -c 'echo $NCCL_SLAB_STATS_FILE'");
  EXPECT_EQ(chosen.out, "mine\n");
  EXPECT_EQ(chosen.errors.find("seen"), std::string::npos);
  EXPECT_EQ(run("$NCCL_SLAB run true").errors, "");
}

TEST_F(Command, RunFailsAsEnvDoes) {
  EXPECT_EQ(run("$NCCL_SLAB run no-such-program").exit_status, 127);
  EXPECT_NE(run("$NCCL_SLAB run no-such-program").errors.find("no-such-program"), std::string::npos);
  EXPECT_EQ(run("$NCCL_SLAB run ./not-executable").exit_status, 126);
  EXPECT_EQ(run("$NCCL_SLAB run").exit_status, 2);
  EXPECT_EQ(run("$NCCL_SLAB run --fast true").exit_status, 2);
}

TEST_F(Command, RunRefusesToNest) {
  const Told told = run("$NCCL_SLAB run $NCCL_SLAB run true");
  EXPECT_EQ(told.exit_status, 125);
  EXPECT_NE(told.errors.find("already"), std::string::npos) << told.errors;
}

TEST_F(Command, RunMissesItsInstallation) {
  fs::remove(folder_ / "lib/libnccl-slab.so");
  const Told told = run("$NCCL_SLAB run true");
  EXPECT_EQ(told.exit_status, 125);
  EXPECT_NE(told.errors.find("lib/libnccl-slab.so is missing"), std::string::npos) << told.errors;
}

TEST_F(Command, RunWorksThroughASymbolicLink) {
  fs::create_symlink(folder_ / "bin/nccl-slab", folder_ / "linked");
  EXPECT_EQ(run("./linked run true").exit_status, 0);
}

#if NCCL_SLAB_IS_EMULATED

TEST_F(Command, AMachineLivesAsLongAsItsProgram) {
  const Told told = run(
      "$NCCL_SLAB run --machine two sh -c 'echo $NCCL_SLAB_MACHINE; ls $NCCL_SLAB_MACHINE_STATE; exit 5'");
  EXPECT_EQ(told.out.rfind((folder_ / "share/nccl-slab/machines/two.machine\n").string(), 0), 0u) << told.out;
  EXPECT_NE(told.out.find("nccl-slab-machine-"), std::string::npos);
  EXPECT_EQ(told.exit_status, 5);
  for (const auto& entry : fs::directory_iterator(folder_))
    EXPECT_EQ(entry.path().filename().string().find("nccl-slab-machine-"), std::string::npos) << "removed";
}

TEST_F(Command, SignalsReachTheProgramOnAMachine) {
  const Told told =
      run("$NCCL_SLAB run --machine two sh -c 'trap \"echo caught; exit 4\" TERM; echo ready; while :; do "
          "sleep 0.05; done' >heard &\n"
          "child=$!\n"
          "while ! grep -q ready heard; do sleep 0.05; done\n"
          "kill -TERM $child; wait $child; echo $?; cat heard");
  EXPECT_EQ(told.out, "4\nready\ncaught\n");
}

TEST_F(Command, ASignalThatEndsTheProgramShowsInTheStatus) {
  EXPECT_EQ(run("$NCCL_SLAB run --machine two sh -c 'kill -KILL $$'").exit_status, 137);
  EXPECT_EQ(run("$NCCL_SLAB run --machine two no-such-program").exit_status, 127);
}

TEST_F(Command, PlainPreloadsNothing) {
  EXPECT_EQ(run("$NCCL_SLAB run --machine two --plain sh -c 'echo \"[$LD_PRELOAD]\"'").out, "[]\n");
}

TEST_F(Command, AMachineMustExist) {
  EXPECT_EQ(run("$NCCL_SLAB run --machine three true").exit_status, 125);
  EXPECT_NE(run("$NCCL_SLAB run --machine three true").errors.find("three"), std::string::npos);
  EXPECT_EQ(run("$NCCL_SLAB run --machine ./share/nccl-slab/machines/two.machine true").exit_status, 0);
}

#else

TEST_F(Command, AGpuInstallationHasNoMachines) {
  const Told told = run("$NCCL_SLAB run --machine two true");
  EXPECT_EQ(told.exit_status, 125);
  EXPECT_NE(told.errors.find("emulated flavour"), std::string::npos) << told.errors;
}

#endif

TEST_F(Command, EnvShowsWhatIsTaken) {
  const Told told = run("NCCL_SLAB_TIMEOUT=70 $NCCL_SLAB env");
  EXPECT_NE(told.out.find("NCCL_SLAB_TIMEOUT=70 ms (set)"), std::string::npos) << told.out;
  EXPECT_NE(told.out.find("NCCL_SLAB_ENABLE=1\n"), std::string::npos);
  const Told wrong = run("NCCL_SLAB_TIMEOUT=soon $NCCL_SLAB env");
  EXPECT_EQ(wrong.exit_status, 1);
  EXPECT_NE(wrong.errors.find("NCCL_SLAB_TIMEOUT=soon is not"), std::string::npos);
  const Told misspelt = run("NCCL_SLAB_TRANSPROT=host $NCCL_SLAB env");
  EXPECT_EQ(misspelt.exit_status, 1);
  EXPECT_NE(misspelt.errors.find("nccl-slab env: NCCL_SLAB_TRANSPROT is not a setting\n"), std::string::npos);
}

TEST_F(Command, EnvIsJsonOnRequest) {
  EXPECT_EQ(run("NCCL_SLAB_DEBUG_FILE='a\"b\\c' $NCCL_SLAB env --json | python3 -c "
                "'import json,sys; print([row[\"value\"] for row in json.load(sys.stdin) if "
                "row[\"variable\"] == \"NCCL_SLAB_DEBUG_FILE\"])'")
                .out,
            "['a\"b\\\\c']\n");
}

}  // namespace
