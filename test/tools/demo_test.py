"""The demo must fail when the slab does not do what it shows: each promise is broken once in made-up jobs."""
import pathlib
import struct
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import demo  # noqa: E402

COUNT, SHARD, CALLS = 65536, 131072, 5
SIDE = demo.COUNTED_DEVICES + 1


class MadeUpJob(demo.Job):
    """A job whose ranks each send `crossing` shards to the other socket and three to their own, and fetch one each."""

    def __init__(self, plain, count, dtype, algorithm="auto", crossing=1, path="islands", error=1e-3):
        self.name, self.good = "made up", True
        self.statistics = [] if plain else [{"algorithms": {path: {}}, "forward": {}}]
        self.report = {"ok": True, "rounds": [{"mode": mode, "calls": CALLS if mode == "eager" else 0,
                                               "shard_bytes": SHARD, "worst_relative": error}
                                              for mode in ("eager", "in_place", "graph")]}
        self.links = [[0] * SIDE for _ in range(SIDE)]
        for rank in range(demo.RANKS):
            self.links[rank + 1][0] = CALLS * SHARD * (8 if plain else 1)
            self.links[rank + 1][1 + (rank + 1) % 4 + rank // 4 * 4] += 0 if plain else 3 * CALLS * SHARD
            self.links[rank + 1][1 + (rank + 4) % 8] += 0 if plain else crossing * CALLS * SHARD


def failures_of(**changes):
    demo.FAILURES.clear()

    def job(plain, count, dtype, algorithm="auto"):
        return MadeUpJob(plain, count, dtype, algorithm, **({} if plain else changes))

    with mock.patch.object(demo, "Job", job):
        row = demo.Row(COUNT, "bf16")
        with mock.patch.object(demo, "TYPES", ("bf16",)):
            demo.check_types([row])
    return row, list(demo.FAILURES)


class DemoTest(unittest.TestCase):
    def test_what_islands_promise(self):
        row, failures = failures_of()
        self.assertEqual(failures, [])
        self.assertAlmostEqual(row.crossed, 1)
        self.assertAlmostEqual(row.sent, 4)
        self.assertAlmostEqual(row.ring, 7)

    def test_more_bytes_across_the_sockets_than_promised(self):
        self.assertEqual(len(failures_of(crossing=2)[1]), 1)

    def test_what_setting_up_costs_is_taken_off(self):
        counters = {name: bytearray(8 * (1 + SIDE * SIDE)) for name in ("links", "links.created")}
        for name, count in (("links", 1007), ("links.created", 1000)):
            struct.pack_into("<Q", counters[name], 8 * (1 + 1 * SIDE + 2), count)
        with tempfile.TemporaryDirectory() as folder:
            for name, content in counters.items():
                (pathlib.Path(folder) / name).write_bytes(content)
            job = demo.Job.__new__(demo.Job)
            job.folder = pathlib.Path(folder)
            self.assertEqual(job.read_links()[1][2], 7)
            (job.folder / "links.created").unlink()
            self.assertEqual(job.read_links()[1][2], 1007)

    def test_a_call_that_went_to_nccl(self):
        self.assertTrue(failures_of(path="NCCL (no_transport)")[1])

    def test_a_worse_error_than_plain(self):
        self.assertEqual(len(failures_of(error=1e-2)[1]), 1)


if __name__ == "__main__":
    unittest.main()
