"""`nccl-slab bench` as a user meets it: an installation, an emulated machine, both libraries, all outputs.

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


class Bench(unittest.TestCase):
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

    def bench(self, *words, command="bench", **variables):
        environment = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "LD_LIBRARY_PATH")}
        return subprocess.run([self.folder / "bin/nccl-slab", command, *map(str, words)], capture_output=True, text=True,
                              timeout=LIMIT, env={**environment, "TMPDIR": str(self.folder), **variables}, check=False)

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
        told = self.bench("--machine", "8-4+4", "--", self.folder / "bin/nccl-slab", "bench", "--ranks", "2", "--sizes", "1K",
                          "--repeats", "1", "--mode", "graph", "--dtype", "bf16", "--json", self.folder / "nested.json",
                          command="run")
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


if __name__ == "__main__":
    unittest.main()
