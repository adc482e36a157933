"""The GPU suite's own parts: it must notice wrong bits, wrong errors and forwarded calls, and survive steps
that hang."""

import json
import pathlib
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "gpu"))
import bench_table  # noqa: E402
import comparison  # noqa: E402
import slab_statistics  # noqa: E402
from mps import Mps  # noqa: E402
from processes import descendants  # noqa: E402
from runner import Runner  # noqa: E402
from step import Step  # noqa: E402

EXACT = {"name": "sum", "digest": "a"}
ROUNDED = {"name": "random", "max_error": 0.5, "mean_error": 0.1, "mean_counts": True, "excess": -0.1}


def write_statistics(folder, slab_calls, forwarded):
    forward = {reason: {"calls": calls, "bytes": 8} for reason, calls in forwarded.items()}
    communicator = {"rank": 0, "nranks": 2, "slab": {"calls": slab_calls, "bytes": 64}, "forward": forward}
    pathlib.Path(folder, "stats.1.json").write_text(json.dumps([communicator]))


class ComparisonTest(unittest.TestCase):
    def test_accepts_equal_bits_and_smaller_errors(self):
        self.assertEqual(
            comparison.compare_rank([EXACT, ROUNDED], [EXACT, ROUNDED | {"mean_error": 0.05}], ""), []
        )

    def test_notices_other_bits(self):
        self.assertEqual(len(comparison.compare_rank([EXACT], [EXACT | {"digest": "b"}], "")), 1)

    def test_notices_errors_beyond_the_bound_or_above_nccl_or_not_finite(self):
        for change in (
            {"excess": 1e-9},
            {"mean_error": 0.2},
            {"excess": float("inf")},
            {"mean_error": float("nan")},
        ):
            self.assertEqual(len(comparison.compare_rank([ROUNDED], [ROUNDED | change], "")), 1, change)

    def test_notices_missing_cases_and_missing_ranks(self):
        self.assertEqual(comparison.compare_rank([EXACT, ROUNDED], [EXACT], ""), ["ran other cases"])
        with tempfile.TemporaryDirectory() as folder:
            self.assertTrue(comparison.compare(pathlib.Path(folder), pathlib.Path(folder), 2))


class StatisticsTest(unittest.TestCase):
    def complaints(self, slab_calls, forwarded, least, **allowed):
        with tempfile.TemporaryDirectory() as folder:
            write_statistics(folder, slab_calls, forwarded)
            return slab_statistics.complaints(pathlib.Path(folder), least, **allowed)

    def test_accepts_a_slab_that_took_every_call(self):
        self.assertEqual(self.complaints(4, {"empty": 1}, 4), [])

    def test_notices_forwarded_and_missing_calls(self):
        self.assertEqual(len(self.complaints(4, {"same_gpu": 1}, 4)), 1)
        self.assertEqual(len(self.complaints(3, {}, 4)), 1)
        self.assertEqual(self.complaints(4, {"datatype": 1}, 4, allowed=frozenset({"datatype"})), [])

    def test_no_statistics_at_all_is_no_success(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(len(slab_statistics.complaints(pathlib.Path(folder), 1)), 1)


class RunnerTest(unittest.TestCase):
    def outcome(self, command, **options):
        with tempfile.TemporaryDirectory() as folder:
            with Runner(pathlib.Path(folder), Mps(wanted=False), time.monotonic() + 60) as runner:
                return runner.run(Step("step", command, options.pop("limit_s", 20), **options))

    def test_states(self):
        self.assertEqual(self.outcome(["true"]).state, "passed")
        self.assertEqual(self.outcome(["false"]).state, "failed")
        self.assertEqual(self.outcome(["sh", "-c", "echo absent; exit 77"]).reason, "absent")
        self.assertEqual(self.outcome(["no-such-program"]).state, "failed")
        self.assertEqual(self.outcome(["true"], missing="not here").state, "skipped")
        self.assertEqual(self.outcome(["true"], check=lambda folder, log: ["bad"]).reason, "bad")

    def test_a_step_that_hangs_is_ended_with_its_children(self):
        before = descendants()
        outcome = self.outcome(["sh", "-c", "setsid sleep 600 & sleep 600"], limit_s=1)
        self.assertEqual((outcome.state, outcome.reason), ("failed", "killed after 1 s"))
        self.assertEqual(descendants(), before)

    def test_a_step_that_leaves_processes_behind_has_failed(self):
        self.assertIn("behind", self.outcome(["sh", "-c", "setsid sleep 600 &"]).reason)

    def test_nothing_starts_after_the_deadline(self):
        with tempfile.TemporaryDirectory() as folder:
            with Runner(pathlib.Path(folder), Mps(wanted=False), time.monotonic()) as runner:
                self.assertEqual(runner.run(Step("step", ["true"], 20)).reason, "no time left")


class BenchTableTest(unittest.TestCase):
    def test_puts_both_libraries_into_one_line(self):
        row = {"series": "bf16/graph/out", "bytes": 4096, "median_us": 8.0, "min_us": 7.0, "max_us": 9.0}
        faster = row | {"median_us": 4.0, "min_us": 4.0, "max_us": 5.0}
        runs = [
            {"library": library, "transport": "host", "ranks": 2, "rows": [each]}
            for library, each in (("NCCL", row), ("nccl-slab", faster))
        ]
        table = bench_table.table([{"step": "tables", "runs": runs}])
        self.assertIn("| tables | host | bf16/graph/out | 2 | 4096 | 8.00 | 4.00 | 2.00 | 25% |", table)


if __name__ == "__main__":
    unittest.main()
