"""`nccl-slab bench` and `nccl-slab tune` as a user meets them: an installation, an emulated machine, all outputs.

Environment: TOOL, BENCH, PRELOAD, DROP_IN, CUDART, NCCL (built files), MACHINES (folder).
"""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

LIMIT = 100  # seconds


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="nccl-slab-bench-")
        cls.folder = pathlib.Path(cls.temporary.name)
        for variable, place in {"TOOL": "bin/nccl-slab", "BENCH": "libexec/nccl-slab/reduce_scatter_bench",
                                "PRELOAD": "lib/libnccl-slab.so", "DROP_IN": "lib/nccl-slab/libnccl.so.2",
                                "NCCL": "lib/emulated/libnccl.so.2"}.items():
            cls.install(os.environ[variable], place)
        for cudart in pathlib.Path(os.environ["CUDART"]).parent.glob("libcudart.so*"):
            if cudart.is_file():
                cls.install(cudart, f"lib/emulated/{cudart.name}")
        shutil.copytree(os.environ["MACHINES"], cls.folder / "share/nccl-slab/machines")

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    @classmethod
    def install(cls, source, place):
        (cls.folder / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, cls.folder / place)

    def tool(self, command, *words, **variables):
        environment = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "LD_LIBRARY_PATH")}
        return subprocess.run([self.folder / "bin/nccl-slab", command, *map(str, words)], capture_output=True, text=True,
                              timeout=LIMIT, env={**environment, "TMPDIR": str(self.folder), **variables}, check=False)


class Bench(Installed):
    def bench(self, *words, **variables):
        return self.tool("bench", *words, **variables)

    def report(self, *words, **variables):
        told = self.bench(*words, "--json", self.folder / "report.json", **variables)
        self.assertEqual(told.returncode, 0, told.stdout + told.stderr)
        return json.loads((self.folder / "report.json").read_text()), told.stdout

    def test_both_libraries_every_series(self):
        report, text = self.report("--machine", "8-4+4", "--ranks", "3", "--sizes", "1K,64K", "--repeats", "2", "--svg",
                                   self.folder / "chart.svg")
        ours, nccl = report["runs"]
        self.assertEqual((ours["library"], ours["served"], nccl["library"], nccl["served"]),
                         ("nccl-slab", "slab", "NCCL", "plain"))
        for run in report["runs"]:
            self.assertEqual(len({(row["series"], row["bytes"]) for row in run["rows"]}), 10)
            for row in run["rows"]:
                self.assertEqual(row["wrong"], 0)
                self.assertLessEqual(row["min_us"], row["median_us"])
                self.assertLessEqual(row["median_us"], row["max_us"])
        self.assertEqual({row["by"] for row in ours["rows"]}, {"slab"})
        self.assertEqual({row["by"] for row in nccl["rows"]}, {"nccl"})
        self.assertIn("fp32/graph/out, mailboxes: auto, 3 ranks on 8 device(s)", text)
        self.assertTrue((self.folder / "chart.svg").read_text().endswith("</svg>\n"))
        self.assertEqual(list(self.folder.glob("nccl-slab-machine-*")), [])

    def test_tables_over_both_transports(self):
        report, text = self.report("--machine", "8-4+4", "--tables", "--ranks", "2", "--sizes", "1K", "--repeats", "1")
        self.assertEqual([run["transport"] for run in report["runs"]], ["host", "host", "peer", "peer"])
        self.assertEqual(text.count("| 1 KiB |"), 2)

    def test_under_our_own_launcher_plain_is_plain(self):
        told = self.tool("run", "--machine", "8-4+4", "--", self.folder / "bin/nccl-slab", "bench", "--ranks", "2", "--sizes",
                         "1K", "--repeats", "1", "--mode", "graph", "--dtype", "bf16", "--json", self.folder / "nested.json")
        self.assertEqual(told.returncode, 0, told.stdout + told.stderr)
        runs = json.loads((self.folder / "nested.json").read_text())["runs"]
        self.assertEqual([run["served"] for run in runs], ["slab", "plain"])

    def test_what_the_slab_does_not_serve_is_said(self):
        report, text = self.report("--machine", "8-4+4", "--ranks", "2", "--sizes", "1K", "--repeats", "1", "--without-nccl",
                                   NCCL_SLAB_OPS="avg")
        self.assertEqual({row["by"] for row in report["runs"][0]["rows"]}, {"nccl"})
        self.assertIn("forwarded", text)

    def test_time_that_is_up_leaves_sizes_out(self):
        report, text = self.report("--machine", "8-4+4", "--ranks", "2", "--sizes", "1K,64M,256M", "--budget", "1",
                                   "--without-nccl", "--repeats", "1")
        self.assertGreater(report["runs"][0]["left"], 0)
        self.assertIn("no time left", text)

    def test_refusals(self):
        self.assertEqual(self.bench("--frobnicate").returncode, 2)
        for words in (("--machine", "none"), (), ("--machine", "8-4+4", "--nccl", self.folder)):
            told = self.bench(*words)
            self.assertEqual((told.returncode, told.stdout), (1, ""), words)
            self.assertTrue(told.stderr.startswith("nccl-slab bench: "), told.stderr)
        told = self.bench("--machine", "8-4+4", "--ranks", "2", "--sizes", "1K", "--json", "/no/such/folder")
        self.assertEqual(told.returncode, 1)


class Tune(Installed):
    QUICK = ("--repeats", "1", "--budget", "60")

    def tune(self, *words, **variables):
        return self.tool("tune", *words, *self.QUICK, **variables)

    def entries(self, name):
        lines = (self.folder / name).read_text().splitlines()
        self.assertTrue(lines[0].startswith("# nccl-slab tuning table"))
        return [line.split() for line in lines if not line.startswith("#")]

    def test_a_table_is_written_and_grows(self):
        table = ("--file", self.folder / "cache/table")
        told = self.tune("--machine", "8-4+4", "--ranks", "2", "--sizes", "1K,4K", *table)
        self.assertEqual((told.returncode, told.stdout), (0, f"{self.folder}/cache/table\n"), told.stderr)
        self.assertIn("s left", told.stderr)
        self.assertEqual([entry[5:7] for entry in self.entries("cache/table")], [["bf16", "1024"], ["bf16", "4096"]])
        told = self.tune("--machine", "8-4+4", "--ranks", "3", "--sizes", "1K", "--transport", "host", *table)
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertEqual([entry[1:3] for entry in self.entries("cache/table")], [["2", "gpu"], ["2", "gpu"], ["3", "host"]])
        self.assertEqual([path.name for path in (self.folder / "cache").iterdir()], ["table"])

    def test_the_default_place_is_the_cache_folder(self):
        told = self.tune("--machine", "8-4+4", "--ranks", "2", "--sizes", "1K", XDG_CACHE_HOME=str(self.folder / "xdg"))
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertEqual(len(self.entries("xdg/nccl-slab/tuning")), 1)

    def test_ranks_of_a_launcher_meet(self):
        script = ("for rank in 0 1 2; do RANK=$rank WORLD_SIZE=3 MASTER_PORT=29511 $0 tune --sizes 1K --repeats 1 --budget 30 "
                  "--file $1 & done; wait")
        told = self.tool("run", "--machine", "8-4+4", "--", "sh", "-c", script, self.folder / "bin/nccl-slab",
                         self.folder / "launched")
        self.assertEqual(told.stdout, f"{self.folder}/launched\n", told.stderr)
        self.assertEqual([entry[1] for entry in self.entries("launched")], ["3"])
        self.assertEqual(list(self.folder.glob("nccl-slab-tune-*")), [])

    def test_refusals(self):
        broken = self.folder / "broken"
        broken.write_text("my diary\n")
        for words in (("--file", broken), ("--file", "/dev/null/table")):
            told = self.tune("--machine", "8-4+4", "--ranks", "2", "--sizes", "1K", *words)
            self.assertEqual(told.returncode, 1, words)
            self.assertTrue(told.stderr.startswith("nccl-slab tune: "), told.stderr)
        self.assertEqual(broken.read_text(), "my diary\n")
        self.assertEqual(self.tune("--tables").returncode, 2)

    def test_ranks_that_nccl_serves_are_not_tuned(self):
        told = self.tune("--machine", "8-4+4", "--ranks", "2", "--sizes", "1K", "--file", self.folder / "none",
                         NCCL_P2P_DISABLE="1", NCCL_SHM_DISABLE="1")
        self.assertEqual(told.returncode, 1, told.stderr)
        self.assertIn("NCCL serves these ranks", told.stderr)
        self.assertFalse((self.folder / "none").exists())


if __name__ == "__main__":
    unittest.main()
