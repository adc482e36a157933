// Ways in which the matrix reaches us. Real machines are in machines_test.cc.
#include "topology/nvidia_smi_matrix.h"

#include <gtest/gtest.h>

#include "fixtures.h"
#include "topology/islands.h"
#include "topology/topology_file.h"

namespace nccl_slab::topology {
namespace {

Machine read(const std::string& text) {
  Machine machine;
  const Status status = parse_nvidia_smi_matrix(text, &machine);
  EXPECT_TRUE(status) << status.what() << "\n" << text;
  return machine;
}

std::string islands_in(const std::string& text) {
  const Machine machine = read(text);
  const auto partition = islands(machine.levels());
  return partition ? braces(*partition) : "unknown";
}

const char* const kPlain =
    "\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity\n"
    "GPU0\t X \tPHB\tSYS\tSYS\t0-7\t0\n"
    "GPU1\tPHB\t X \tSYS\tSYS\t0-7\t0\n"
    "GPU2\tSYS\tSYS\t X \tPIX\t8-15\t1\n"
    "GPU3\tSYS\tSYS\tPIX\t X \t8-15\t1\n";

// The text with every `from` replaced.
std::string with(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

TEST(NvidiaSmiMatrix, Plain) {
  const Machine machine = read(kPlain);
  EXPECT_EQ(islands_in(kPlain), "{0,1}{2,3}");
  EXPECT_EQ(machine.gpus[3].numa_node, 1);
  EXPECT_EQ(machine.pcie_only(), Answer::kYes);
}

TEST(NvidiaSmiMatrix, WhatTerminalsAndWikisAdd) {
  EXPECT_EQ(islands_in(with(kPlain, "\n", "\r\n")), "{0,1}{2,3}");
  EXPECT_EQ(islands_in(with(kPlain, "\t", "    ")), "{0,1}{2,3}");
  EXPECT_EQ(islands_in(with(kPlain, "\t", "\xc2\xa0\xc2\xa0")), "{0,1}{2,3}");
  EXPECT_EQ(islands_in("\xef\xbb\xbf" + std::string(kPlain)), "{0,1}{2,3}");
  EXPECT_EQ(islands_in("```\n$ nvidia-smi topo -m\n" + std::string(kPlain) + "```\n"), "{0,1}{2,3}");
  EXPECT_EQ(islands_in("> " + with(kPlain, "\n", "\n> ")), "{0,1}{2,3}");
  EXPECT_EQ(islands_in("   - " + with(kPlain, "\n", "\n     ")), "{0,1}{2,3}");
  EXPECT_EQ(islands_in("<pre>" + std::string(kPlain) + "</pre>"), "{0,1}{2,3}");
}

TEST(NvidiaSmiMatrix, UnderlineCodesWholeSpelledAndBroken) {
  for (const std::string escape : {"\x1b", "^[", "\\x1b", "\\033", "\xe2\x90\x9b", ""})
    EXPECT_EQ(islands_in(with(with(kPlain, "\tGPU0\tGPU1", "\t" + escape + "[4mGPU0\tGPU1"), "NUMA Affinity",
                              "NUMA Affinity" + escape + "[0m")),
              "{0,1}{2,3}")
        << escape;
}

TEST(NvidiaSmiMatrix, MarkdownTable) {
  EXPECT_EQ(islands_in("|   | **GPU0** | **GPU1** | NIC0 |\n|---|---|---|---|\n"
                       "| GPU0 | X | SYS | PIX |\n| GPU1 | SYS | X | SYS |\n| NIC0 | PIX | SYS | X |\n"),
            "{0,1}");
}

TEST(NvidiaSmiMatrix, OldNewAndMissingColumns) {
  EXPECT_EQ(islands_in(with(kPlain, "SYS", "SOC")), "{0,1}{2,3}");
  EXPECT_EQ(islands_in(with(with(kPlain, "\tCPU Affinity\tNUMA Affinity", ""), "\t0-7\t0", "")),
            "{0,1}{2,3}");
  EXPECT_EQ(islands_in(with(kPlain, "NUMA Affinity", "NUMA Affinity\tGPU NUMA ID")), "{0,1}{2,3}");
  EXPECT_EQ(islands_in(with(kPlain, "GPU", "gpu")), "{0,1}{2,3}");
}

TEST(NvidiaSmiMatrix, RowsAlone) {
  EXPECT_EQ(islands_in(std::string(kPlain).substr(std::string(kPlain).find('\n') + 1)), "{0,1}{2,3}");
}

TEST(NvidiaSmiMatrix, OneTriangleIsEnough) {
  EXPECT_EQ(islands_in("GPU0 GPU1 GPU2 CPU Affinity\nGPU0 X\nGPU1 PHB X\nGPU2 SYS SYS X\n"), "{0,1}{2}");
}

TEST(NvidiaSmiMatrix, ProseAroundIsNotAMatrix) {
  EXPECT_EQ(islands_in("GPU0 is in the first slot\nGPU1 and GPU2 are not\n" + std::string(kPlain) +
                       "Legend:\n  X    = Self\n  SYS  = Connection\n  NV#  = links\nGPU0 looks fine\n"),
            "{0,1}{2,3}");
}

TEST(NvidiaSmiMatrix, AP2pMatrixInTheSamePasteDoesNotCount) {
  const std::string p2p = " \tGPU0\tGPU1\tGPU2\tGPU3\n GPU0\tX\tNS\tNS\tNS\n GPU1\tNS\tX\tNS\tNS\n";
  EXPECT_EQ(islands_in(p2p + kPlain), "{0,1}{2,3}");
  EXPECT_EQ(islands_in(kPlain + p2p), "{0,1}{2,3}");
}

TEST(NvidiaSmiMatrix, NicsByAnyNameAndTheirLegend) {
  const Machine machine = read(
      "\tGPU0\tGPU1\tNIC0\tbnxt_re1\tCPU Affinity\nGPU0\tX\tSYS\tPIX\tSYS\t0-3\nGPU1\tSYS\tX\tSYS\tPHB\t4-7\n"
      "NIC0\tPIX\tSYS\tX\tSYS\nbnxt_re1\tSYS\tPHB\tSYS\tX\n\nNIC Legend:\n\n  NIC0: mlx5_7\n");
  ASSERT_EQ(machine.nics.size(), 2u);
  EXPECT_EQ(machine.nics[0].name, "mlx5_7");
  EXPECT_EQ(machine.nics[0].to_gpu, (std::vector<PathClass>{PathClass::kPix, PathClass::kSys}));
  EXPECT_EQ(machine.nics[1].name, "bnxt_re1");
  EXPECT_EQ(machine.nics[1].to_gpu, (std::vector<PathClass>{PathClass::kSys, PathClass::kPhb}));
}

TEST(NvidiaSmiMatrix, LinksAreCounted) {
  const Machine machine = read("GPU0 GPU1\nGPU0 X NV12\nGPU1 NV12 X\n");
  EXPECT_EQ(machine.pair(0, 1).nvlinks, 12);
  EXPECT_EQ(machine.pcie_only(), Answer::kNo);
}

TEST(NvidiaSmiMatrix, GpuNumbersAreKept) {
  const Machine machine = read("GPU2 GPU10\nGPU2 X PHB\nGPU10 PHB X\n");
  EXPECT_EQ(machine.gpus[0].number, 2);
  EXPECT_EQ(machine.gpus[1].number, 10);
}

TEST(NvidiaSmiMatrix, AHeaderAloneGivesGpusOfUnknownPlace) {
  EXPECT_EQ(islands_in("\tGPU0\tGPU1\tCPU Affinity\nFailed to run topology matrix\n"), "unknown");
  EXPECT_EQ(read("\tGPU0\tGPU1\tCPU Affinity\n").pcie_only(), Answer::kUnknown);
}

TEST(NvidiaSmiMatrix, InAPageThatMentionsXml) {
  Machine machine;
  EXPECT_TRUE(parse_topology("<?xml version=\"1.0\"?><html><pre>\n" + std::string(kPlain) + "</pre></html>",
                             &machine));
  EXPECT_EQ(machine.gpu_count(), 4);
}

TEST(NvidiaSmiMatrix, OneGpu) {
  EXPECT_EQ(islands_in("\tGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \t0-15\t0\t\tN/A\n"),
            "{0}");
}

TEST(NvidiaSmiMatrix, UnreadableCellsAreUnknown) {
  EXPECT_EQ(islands_in("GPU0 GPU1\nGPU0 X WHAT\nGPU1 WHAT X\n"), "unknown");
}

TEST(NvidiaSmiMatrix, NoMatrixIsAnErrorThatSaysWhatWasExpected) {
  for (const char* text :
       {"", "\n\n", "hello", "Failed to run topology matrix\n", "nvidia-smi: command not found"}) {
    Machine machine;
    const Status status = parse_nvidia_smi_matrix(text, &machine);
    ASSERT_FALSE(status) << text;
    EXPECT_NE(status.what().find("expected a header line"), std::string::npos);
  }
}

}  // namespace
}  // namespace nccl_slab::topology
