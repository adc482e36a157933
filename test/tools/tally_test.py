"""tally.py must count every case once and must not be fooled by programs that die."""
import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
from tally import Tally  # noqa: E402

JUNIT = """<testsuites>
<testsuite name="nccl-slab.nccl-slab:base.Settings">
  <testcase name="Good" classname="Settings" status="run"/>
  <testcase name="Bad" classname="Settings" status="run"><failure/></testcase>
  <testcase name="Skipped" classname="Settings" status="run"><skipped/></testcase>
  <testcase name="Disabled" classname="Settings" status="notrun"/>
</testsuite>
<testsuite name="nccl-slab.asan - nccl-slab:base leaky.Suite"><testcase name="Good" classname="Suite" status="run"/></testsuite>
<testsuite name="nccl-slab"><testcase name="nccl-slab:program" classname="nccl-slab"><error/></testcase></testsuite>
</testsuites>"""
BASE, LEAKY, PROGRAM = "nccl-slab:base", "asan - nccl-slab:base leaky", "nccl-slab:program"


def tally_of(junit, programs):
    with tempfile.TemporaryDirectory() as folder:
        logs = pathlib.Path(folder, "emu", "meson-logs")
        logs.mkdir(parents=True)
        (logs / "testlog.junit.xml").write_text(junit)
        lines = (json.dumps({"name": name, "result": result}) + "\n" for name, result in programs)
        (logs / "testlog.json").write_text("".join(lines))
        tally = Tally()
        tally.add_meson_logs(logs.parent)
        return tally


class TallyTest(unittest.TestCase):
    def test_counts_cases_not_programs(self):
        tally = tally_of(JUNIT, [(BASE, "FAIL"), (LEAKY, "OK"), (PROGRAM, "ERROR")])
        self.assertEqual(tally.closing_line(), "2 passed, 2 failed, 1 skipped")

    def test_a_program_that_fails_after_its_cases_passed_is_a_failure(self):
        tally = tally_of(JUNIT, [(BASE, "FAIL"), (LEAKY, "FAIL"), (PROGRAM, "ERROR")])
        self.assertEqual(tally.closing_line(), "2 passed, 3 failed, 1 skipped")
        self.assertIn(f"emu: {LEAKY} (fail)", tally.failures)

    def test_no_skipped_no_mention(self):
        tally = Tally()
        tally.add("a", True)
        self.assertEqual(tally.closing_line(), "1 passed, 0 failed")


if __name__ == "__main__":
    unittest.main()
