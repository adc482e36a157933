// `nccl-slab topo`: what scripts read, exit codes, and that every file is answered.
#include "tool/topo.h"

#include <gtest/gtest.h>

#include <sstream>

#include "fixtures.h"
#include "tool/topo_report.h"

namespace nccl_slab::tool {
namespace {

using topology::content_of;
using topology::machine_files;

struct Outcome {
  int status;
  std::string out, err;
};

Outcome topo(std::vector<std::string> words) {
  words.insert(words.begin(), "topo");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int status = topo_command(static_cast<int>(argv.size()), argv.data());
  return {status, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

std::string file_of(const std::string& name) {
  return NCCL_SLAB_TEST_MACHINES "/" + name;
}

// The line that starts with a key, without the key.
std::string line(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  for (std::string each; std::getline(lines, each);)
    if (each.starts_with(key + ": ")) return each.substr(key.size() + 2);
  return "(no line)";
}

// Whether the text is one JSON value: strings, brackets and separators where they belong.
class JsonCheck {
 public:
  explicit JsonCheck(std::string_view text) : rest_(text) {}
  bool whole() { return value() && rest_ == "\n"; }

 private:
  bool take(std::string_view wanted) {
    if (!rest_.starts_with(wanted)) return false;
    rest_.remove_prefix(wanted.size());
    return true;
  }
  bool value() {
    if (take("{")) return take("}") || items('}', [&] { return text() && take(":") && value(); });
    if (take("[")) return take("]") || items(']', [&] { return value(); });
    return text() || take("null") || take("true") || take("false") || number();
  }
  template <typename Item>
  bool items(char end, Item item) {
    do
      if (!item()) return false;
    while (take(","));
    return take(std::string_view(&end, 1));
  }
  bool text() {
    if (!take("\"")) return false;
    while (!rest_.empty() && rest_.front() != '"') {
      if (static_cast<unsigned char>(rest_.front()) < 0x20 ||
          static_cast<unsigned char>(rest_.front()) > 0x7e)
        return false;
      rest_.remove_prefix(rest_.front() == '\\' ? 2 : 1);
    }
    return take("\"");
  }
  bool number() {
    const std::size_t end = rest_.find_first_not_of("0123456789.-+e");
    if (end == 0 || end == rest_.npos) return false;
    rest_.remove_prefix(end);
    return true;
  }
  std::string_view rest_;
};

TEST(Topo, TheLinesThatScriptsReadComeFirst) {
  const Outcome run = topo({"--file", file_of("8x-titan-v-dual-socket-pix-pairs.txt")});
  EXPECT_EQ(run.status, 0);
  EXPECT_TRUE(run.out.starts_with("pcie-only: yes\nislands: {0,1,2,3}{4,5,6,7}\n")) << run.out;
  EXPECT_NE(run.out.find("tree:\n  SYS {0,1,2,3,4,5,6,7}\n    PHB {0,1,2,3}\n      PIX {0,1}\n"),
            std::string::npos)
      << run.out;
  EXPECT_NE(run.out.find("switches:\n  {0,1}\n  {2,3}\n"), std::string::npos) << run.out;
  EXPECT_EQ(line(run.out, "ordered 4+4"), "yes, two islands of four, in the order of the ranks");
  EXPECT_EQ(run.err, "");
}

TEST(Topo, SwitchesNicsAndLinks) {
  const std::string out = topo({"--file=" + file_of("8x-hygon-dcu-dual-socket-rccl.xml")}).out;
  EXPECT_NE(out.find("  0000:31:00.0 {0,1,2,3}\n  0000:33:00.0 {0,1}\n"), std::string::npos) << out;
  EXPECT_NE(out.find("  mlx5_4 port 1, 200 Gb/s: PXB {4,5,6,7} SYS {0,1,2,3}\n"), std::string::npos) << out;
  EXPECT_NE(out.find("NUMA node 7, 16 GT/s x16 (31.5 GB/s each way)"), std::string::npos) << out;
}

TEST(Topo, TheVerdictAndItsReason) {
  const auto verdict = [](const char* name) { return line(topo({"--file", file_of(name)}).out, "verdict"); };
  EXPECT_TRUE(verdict("8x-k80-flat-phb.txt").starts_with("slab if the self-test passes"));
  EXPECT_TRUE(verdict("8x-nv12-nvswitch-aws-p4.txt").starts_with("forward to NCCL: nvlink: "));
  EXPECT_TRUE(verdict("2x-a6000-nvlink-rank0-fragment.xml").starts_with("forward to NCCL: one_rank: "));
  EXPECT_TRUE(verdict("4x-a100-gvisor-no-topology.txt").starts_with("unknown"));
}

TEST(Topo, AFileWithoutTopologyIsAnsweredWithUnknown) {
  const Outcome run = topo({"--file", file_of("4x-a100-gvisor-no-topology.txt")});
  EXPECT_EQ(run.status, 0);
  EXPECT_TRUE(run.out.starts_with("pcie-only: unknown\nislands: unknown\nnote: ")) << run.out;
}

TEST(Topo, EveryFileIsAnsweredAsTextAndJson) {
  for (const std::string& path : machine_files()) {
    const Outcome text = topo({"--file", path}), json = topo({"--json", "--file", path});
    EXPECT_EQ(text.status, 0) << path;
    EXPECT_NE(line(text.out, "islands"), "(no line)") << path;
    EXPECT_EQ(json.status, 0) << path;
    EXPECT_TRUE(JsonCheck(json.out).whole()) << json.out;
  }
}

TEST(Topo, JsonNamesTheSame) {
  const std::string json = topo({"--json", "--file", file_of("4x-rtx3090-dual-socket-phb-pairs.txt")}).out;
  EXPECT_TRUE(json.starts_with("{\"pcie_only\":\"yes\",\"islands\":[[0,1],[2,3]],")) << json;
  const std::string unknown = topo({"--json", "--file", file_of("4x-a100-gvisor-no-topology.txt")}).out;
  EXPECT_TRUE(unknown.starts_with("{\"pcie_only\":\"unknown\",\"islands\":null,")) << unknown;
}

TEST(Topo, NamesFromFilesCannotBreakTheJson) {
  topology::Machine machine(1);
  machine.nics.push_back({"mlx\"5\\\x01\xff", {}, {topology::PathClass::kPix}, 0, 0, {}});
  EXPECT_TRUE(JsonCheck(as_json(make_topo_report(machine, "a \"note\"\n"))).whole());
}

TEST(Topo, UnreadableFilesAreErrors) {
  for (const std::string& path : {std::string("/nonexistent/file"), std::string("/")}) {
    const Outcome run = topo({"--file", path});
    EXPECT_EQ(run.status, 1);
    EXPECT_EQ(run.out, "");
    EXPECT_NE(run.err.find("cannot read " + path), std::string::npos) << run.err;
  }
}

TEST(Topo, SeveralFilesAreAnsweredOneByOne) {
  const Outcome run = topo({"--file", file_of("8x-k80-flat-phb.txt"), "--file", "/nonexistent", "--file",
                            file_of("4x-rtx5060ti-flat-phb.txt")});
  EXPECT_EQ(run.status, 1);
  EXPECT_NE(run.out.find("islands: {0,1,2,3,4,5,6,7}\n"), std::string::npos);
  EXPECT_NE(run.out.find("islands: {0,1,2,3}\n"), std::string::npos);
}

TEST(Topo, WrongArguments) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--file"}, {"--xml"}, {"file"}, {"--file="}}) {
    const Outcome run = topo(words);
    EXPECT_EQ(run.status, 2);
    EXPECT_NE(run.err.find("usage: nccl-slab topo"), std::string::npos);
  }
}

TEST(Topo, WithoutAFileThisMachineIsAsked) {
  const Outcome run = topo({});
  EXPECT_EQ(run.status, 0);
  EXPECT_NE(line(run.out, "pcie-only"), "(no line)") << run.out;
  EXPECT_TRUE(JsonCheck(topo({"--json"}).out).whole());
}

}  // namespace
}  // namespace nccl_slab::tool
