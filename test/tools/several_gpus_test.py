"""The GPU suite's plans for several GPUs, and what its steps conclude: they run on machines that are seldom at hand."""

import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "gpu"))
import killed_rank  # noqa: E402
import nccl_tests_times  # noqa: E402
import plan_several  # noqa: E402
from environment import Environment  # noqa: E402
from places import Places  # noqa: E402

TIMES = """#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
        1024           128  bfloat16     sum      -1    11.31    0.09    0.08      0    10.54    0.10    0.09      0
    16777216       2097152  bfloat16     sum      -1   411.31   40.09   35.08    N/A   410.50   40.10   35.09    N/A
# Out of bounds values : 0 OK
"""
NOTICED = "rank 1: asynchronous error 6 after 12 ms\nrank 1: aborted in 30 ms\n"


def planned(devices, *parts):
    places = Places(None)
    return plan_several.steps(places, Environment(places, devices), list(parts or plan_several.PARTS))


class PlanTest(unittest.TestCase):
    def test_numbers_of_ranks(self):
        ranks = {devices: plan_several.fitting(devices) for devices in (1, 2, 3, 4, 8, 16)}
        self.assertEqual(ranks, {1: (2, 4), 2: (2,), 3: (2, 3), 4: (2, 4), 8: (2, 4, 8), 16: (2, 4, 8)})

    def test_islands_are_halves_and_no_gpu_is_in_both(self):
        self.assertEqual(plan_several.islands(8, 2), "0,2,4,6|1,3,5,7")
        self.assertEqual(plan_several.islands(4, 4), "0,1|2,3")
        self.assertEqual(plan_several.islands(8, 8), "0,1,2,3|4,5,6,7")
        self.assertEqual(plan_several.islands(4, 1), "0,1|2,3")

    def test_every_part_has_steps_with_folders_of_their_own(self):
        for devices in (1, 2, 4, 8):
            folders = [step.folder for step in planned(devices)]
            self.assertEqual(len(folders), len(set(folders)))
            for part in plan_several.PARTS:
                self.assertTrue(planned(devices, part) or (devices, part) == (1, "process"), (devices, part))

    def test_nvlink_is_left_to_nccl_by_default_and_taken_otherwise(self):
        for step in planned(8):
            default = "default" in step.name
            if default or "LD_PRELOAD" in step.variables or step.name.startswith("several/peer"):
                self.assertEqual(step.variables.get("NCCL_SLAB_FORCE"), "0" if default else "1", step.name)

    def test_multicast_stays_off(self):
        for step in planned(8):
            if not step.name.startswith("doctor"):
                self.assertEqual(step.variables["NCCL_NVLS_ENABLE"], "0", step.name)

    def test_a_step_that_forwards_by_default_must_name_the_reason(self):
        step = planned(2, "verdict")[0]
        with tempfile.TemporaryDirectory() as folder:
            for reason, complaints in (("nvlink", 0), ("slow_p2p", 1)):
                write(folder, 0, {reason: {"calls": 3, "bytes": 8}})
                self.assertEqual(len(step.check(pathlib.Path(folder), "")), complaints)
            write(folder, 3, {})
            self.assertEqual(len(step.check(pathlib.Path(folder), "")), 1)

    def test_a_process_of_all_ranks_leaves_its_times_beside_those_of_nccl(self):
        steps = {step.name: step for step in planned(8, "process")}
        slab, plain = steps["several/process threads peer"], steps["several/process threads plain"]
        with tempfile.TemporaryDirectory() as work:
            folder = pathlib.Path(work, slab.folder)
            folder.mkdir()
            pathlib.Path(work, f"{plain.folder}.log").write_text(TIMES)
            write(folder, 9, {})
            self.assertEqual(slab.check(folder, TIMES), [])
            runs = json.loads((folder / "bench.json").read_text())["runs"]
            self.assertEqual([(run["library"], len(run["rows"])) for run in runs], [("NCCL", 4), ("nccl-slab", 4)])
            self.assertEqual(len(slab.check(folder, TIMES.replace(": 0 OK", ": 3"))), 1)
            write(folder, 9, {"nvlink": {"calls": 1, "bytes": 8}})
            self.assertEqual(len(slab.check(folder, TIMES)), 1)


def write(folder, calls, forward):
    communicator = {"rank": 0, "nranks": 2, "slab": {"calls": calls, "bytes": 8}, "forward": forward}
    pathlib.Path(folder, "stats.1.json").write_text(json.dumps([communicator]))


class TimesTest(unittest.TestCase):
    def test_reads_both_places_of_each_line(self):
        run = nccl_tests_times.run(TIMES, "NCCL", "peer", 8)
        rows = [(row["series"], row["bytes"], row["median_us"]) for row in run["rows"]]
        self.assertEqual(rows, [("bf16/eager/out", 128, 11.31), ("bf16/eager/in", 128, 10.54),
                                ("bf16/eager/out", 2 << 20, 411.31), ("bf16/eager/in", 2 << 20, 410.5)])


class KilledRankTest(unittest.TestCase):
    def test_accepts_ranks_that_noticed_and_left(self):
        self.assertEqual(killed_rank.outlived([-9, 0], ["", NOTICED]), [])

    def test_notices_survivors_that_did_not_end_or_came_late(self):
        for statuses, text in (([0, 0], NOTICED), ([-9, 1], NOTICED), ([-9, 0], ""),
                               ([-9, 0], NOTICED.replace("30", "30000"))):
            self.assertEqual(len(killed_rank.outlived(statuses, ["", text])), 1, (statuses, text))


if __name__ == "__main__":
    unittest.main()
