"""`nccl-slab explain` as users and scripts meet it, and the tables of doc/cost-model.md, which it must have printed.

Environment: TOOL (the command), SOURCE_ROOT.
"""
import json
import os
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(os.environ["SOURCE_ROOT"])
MACHINES = ROOT / "test/machines"


def explain(*words):
    environment = dict(os.environ, NCCL_SLAB_MACHINE_PATH=str(ROOT / "src/device/emulated/machines"))
    environment.pop("NCCL_SLAB_SLAB_MIB", None)
    return subprocess.run([os.environ["TOOL"], "explain", *map(str, words)], capture_output=True, text=True, timeout=30,
                          env=environment, cwd=ROOT, check=False)


class Explain(unittest.TestCase):
    def report(self, *words):
        told = explain(*words, "--json")
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertEqual(told.stdout.count("\n"), 1)
        return json.loads(told.stdout)

    def test_links_carry_the_design(self):
        report = self.report("--machine", MACHINES / "8-switch-pairs.machine", "--ranks", 8, "--dtype", "fp32", "--count", 1260)
        shard = 4 * 1260
        self.assertEqual(report["shard_bytes"], shard)
        for name, shards in {"switch sw0": {"flat": 12, "islands": 10, "ring": 7, "nested": 6},
                             "socket cpu0": {"flat": 16, "islands": 4, "ring": 7, "nested": 4}}.items():
            for link in report["links"]:
                if link["link"] == name:
                    found = {word: count / shard for word, count in link["bytes"].items() if word in shards}
                    self.assertEqual(found, shards, f"{name} {link['direction']}")

    def test_fastest_is_the_fastest_and_the_choice_is_the_librarys(self):
        for count in (512, 32768, 1 << 20, 1 << 26):
            report = self.report("--machine", "8-4+4", "--count", count)
            times = {each["algorithm"]: each["predicted_us"] for each in report["candidates"] if each["predicted_us"]}
            self.assertEqual(times[report["fastest"]], min(times.values()))
            self.assertLess(times[report["choice"]], times["ring"])

    def test_text_names_candidates_choice_and_links(self):
        told = explain("--machine", "8-4+4", "--ranks", "0,1,4,5", "--dtype", "bf16", "--count", 1000)
        self.assertEqual(told.returncode, 0, told.stderr)
        for word in ("flat_small", "flat", "islands", "ring", "choice: ", "socket cpu0 up", "gpu 5 down", "0,1|2,3"):
            self.assertIn(word, told.stdout)

    def test_topology_files_have_assumed_capacities(self):
        for path in sorted(MACHINES.glob("*.txt")) + sorted(MACHINES.glob("*.xml")):
            told = explain("--machine", path, "--count", 1000, "--json")
            self.assertIn(told.returncode, (0, 1), path)
            if told.returncode == 0:
                self.assertIn("assumed", json.loads(told.stdout)["capacities"])

    def test_refusals(self):
        machine = MACHINES / "8-switch-pairs.machine"
        for words in ((), ("--machine", machine), ("--machine", machine, "--count", "x"), ("--machine", machine, "--count", "-1"),
                      ("--machine", machine, "--count", 1, "--dtype", "int8"), ("--machine", machine, "--count", 1, "--ranks", "0,,1"),
                      ("--machine", machine, "--count", 1, "--sweep")):
            told = explain(*words)
            self.assertEqual((told.returncode, told.stdout), (2, ""), words)
        for words in (("--machine", "no-such", "--count", 1), ("--machine", machine, "--count", 1, "--ranks", 9),
                      ("--machine", machine, "--count", 1, "--ranks", 1), ("--machine", "/dev/null", "--count", 1)):
            told = explain(*words)
            self.assertEqual((told.returncode, told.stdout), (1, ""), words)
            self.assertTrue(told.stderr.startswith("nccl-slab explain: "), told.stderr)

    def test_document_holds_the_tables_that_the_tool_prints(self):
        text = (ROOT / "doc/cost-model.md").read_text(encoding="utf-8")
        commands = re.findall(r"^    \$ nccl-slab (explain .*--sweep)$", text, re.MULTILINE)
        self.assertEqual(len(commands), 4)
        for command in commands:
            table = explain(*command.split()[1:]).stdout
            self.assertIn(f"    $ nccl-slab {command}\n\n{table}", text, "run test/tune/explain_test.py --write")


def write_tables():
    """Replaces every table below a command of doc/cost-model.md with what the tool prints now."""
    path = ROOT / "doc/cost-model.md"
    block = re.compile(r"^(    \$ nccl-slab (explain .*--sweep)\n\n)(?:\|.*\n)*", re.MULTILINE)
    text = path.read_text(encoding="utf-8")
    path.write_text(block.sub(lambda found: found[1] + explain(*found[2].split()[1:]).stdout, text), encoding="utf-8")


if __name__ == "__main__":
    import sys
    if "--write" in sys.argv:
        write_tables()
    else:
        unittest.main()
