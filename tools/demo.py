"""The demo's main job: one plain NCCL program, twice per size and type on the emulated machine, and a table of both.

The program (test/programs/reduce_scatter_table) checks itself against fp64 and knows nothing of the slab. Its errors come
from its own report, the path from the library's statistics, the bytes from the counters of the emulated machine's links.
Each size and type is a job of its own, so that the counters hold nothing else but what setting up costs. That depends on the
moment (pairs that look slow are measured again), so each job copies its counters when its communicator has been made.
"""
import itertools
import json
import os
import pathlib
import shlex
import struct
import subprocess
import sys
import tempfile
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "out" / "emu"
PROGRAM = OUT / "libexec" / "nccl-slab" / "reduce_scatter_table"
MACHINE, RANKS, SOCKET = "8-4+4", 8, 4
SIZES = (1, 7, 4099, 65536, 1000003)  # elements per shard; the largest is not replayed from a graph
FLAT_SIZE = 65536
TYPES = ("bf16", "fp16", "fp32")
JOB_LIMIT = 120  # seconds
COUNTED_DEVICES = 32  # rows and columns of the counters, after one for host memory
# Bytes that cross the socket boundary per rank and call, in shards: what each algorithm promises.
CROSSING = {"islands": 1, "islands_push": 1, "islands_small": 2, "nested": 1, "flat": 4, "flat_push": 4, "flat_small": 8}
TOLERANCE, FROM_BYTES = 0.05, 4096  # promises are held to shards of this size and more: tails are whole packs below

FAILURES = []


def expect(good, complaint):
    if not good:
        FAILURES.append(complaint)


class Job:
    """One run of the program: its report, the links' counters and the library's statistics (plain: none)."""

    def __init__(self, plain, count, dtype, algorithm="auto"):
        self.name, self.algorithm = f"{'plain' if plain else 'slab'} {count} {dtype}", algorithm
        with tempfile.TemporaryDirectory(prefix="nccl-slab-demo-") as folder:
            self.folder = pathlib.Path(folder)
            self.good = self.run(plain, count, dtype)
            self.report = self.read_report()
            self.links = self.read_links()
            self.statistics = self.read_statistics()
        expect(self.good and self.report["ok"], f"{self.name}: the program failed")

    def run(self, plain, count, dtype):
        # The counters' file that the command makes goes when the job ends; env puts one of ours in its place.
        command = [OUT / "bin" / "nccl-slab", "run", "--machine", MACHINE, *(["--plain"] if plain else []), "--",
                   "env", f"NCCL_SLAB_MACHINE_STATE={self.folder / 'links'}", PROGRAM,
                   "--ranks", str(RANKS), "--sizes", str(count), "--dtypes", dtype, "--json", self.folder / "report",
                   "--when-created", shlex.join(["cp", str(self.folder / "links"), str(self.folder / "links.created")])]
        environment = {**os.environ, "NCCL_SLAB_STATS_FILE": str(self.folder / "statistics.%p"),
                       "NCCL_SLAB_ALGO": self.algorithm}
        try:
            done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, timeout=JOB_LIMIT, check=False)
        except subprocess.TimeoutExpired:
            print(f"{self.name}: no end after {JOB_LIMIT} s")
            return False
        if done.returncode != 0:
            print(done.stdout)
        return done.returncode == 0

    def read_report(self):
        path = self.folder / "report"
        return json.loads(path.read_text()) if path.exists() else {"ok": False, "rounds": []}

    def read_links(self):
        """bytes[from][to] since the communicator was made, host memory in row and column 0."""
        end, start = self.read_counters("links"), self.read_counters("links.created")
        return [[after - before for after, before in zip(*rows)] for rows in zip(end, start)]

    def read_counters(self, name):
        """The file is a magic number and then the counters."""
        side, path = COUNTED_DEVICES + 1, self.folder / name
        if not path.exists():
            return [[0] * side] * side
        numbers = struct.unpack_from(f"<{1 + side * side}Q", path.read_bytes())[1:]
        return [numbers[row * side : (row + 1) * side] for row in range(side)]

    def read_statistics(self):
        files = sorted(self.folder.glob("statistics.*"))
        return [communicator for path in files for communicator in json.loads(path.read_text())]

    def calls(self):
        return sum(each["calls"] for each in self.report["rounds"])

    def worst_error(self):
        return max((each["worst_relative"] for each in self.report["rounds"]), default=float("nan"))

    def modes(self):
        return {each["mode"] for each in self.report["rounds"]}

    def path(self):
        """The algorithm that served every call of every rank, or what else happened."""
        words = set()
        for communicator in self.statistics:
            words |= set(communicator["algorithms"])
            words |= {f"NCCL ({reason})" for reason in communicator["forward"]}
        return "+".join(sorted(words)) or "NCCL"

    def to_host(self):
        """Bytes that devices wrote to host memory: results that the program fetches, and plain NCCL's mailboxes."""
        return sum(row[0] for row in self.links[1:])

    def to_devices(self, crossing_only=False):
        """Bytes that left a device for another one, or for one on the other socket."""
        return sum(count for source, row in enumerate(self.links[1:]) for target, count in enumerate(row[1:])
                   if source != target and (not crossing_only or source // SOCKET != target // SOCKET))


class Row:
    """One size and type, plain and with the slab; bytes are per rank and call, in shards."""

    def __init__(self, count, dtype, algorithm="auto"):
        self.jobs = self.plain, self.slab = Job(True, count, dtype), Job(False, count, dtype, algorithm)
        self.count, self.dtype, self.path = count, dtype, self.slab.path()
        self.shard = max((each["shard_bytes"] for each in self.slab.report["rounds"]), default=0)
        self.errors = [job.worst_error() for job in self.jobs]
        # Plain NCCL goes through host memory here; what the program fetches is the same in both jobs.
        self.ring = self.shards(self.plain.to_devices() + self.plain.to_host() - self.slab.to_host())
        self.sent, self.crossed = self.shards(self.slab.to_devices()), self.shards(self.slab.to_devices(True))
        self.check()

    def shards(self, count):
        whole = self.slab.calls() * RANKS * self.shard
        return count / whole if whole else float("nan")

    def check(self):
        name = f"{self.count} {self.dtype}"
        expect(self.path in CROSSING, f"{name}: path {self.path}")
        expect(self.slab.modes() >= {"eager", "in_place"}, f"{name}: a round is missing")
        promise = CROSSING.get(self.path)
        if promise and self.shard >= FROM_BYTES:
            expect(abs(self.crossed - promise) <= TOLERANCE * promise,
                   f"{name}: {self.crossed:.2f} shards crossed the sockets, {self.path} promises {promise}")

    def print(self):
        modes = ", ".join(sorted(self.slab.modes()))
        print(f"{self.count:>8} {self.dtype:>5} {self.path:>13} | {self.errors[0]:>9.2e} {self.errors[1]:>9.2e} |"
              f" {self.ring:>7.2f} {self.sent:>7.2f} | {self.crossed:>7.2f} {CROSSING[self.path]:>8} | {modes}"
              if self.path in CROSSING else f"{self.count:>8} {self.dtype:>5} {self.path}", flush=True)


def print_header():
    print(f"One NCCL program, unchanged, on {RANKS} emulated GPUs, {SOCKET} on each of two sockets (machine {MACHINE}):\n"
          f"  plain   nccl-slab run --machine {MACHINE} --plain -- reduce_scatter_table\n"
          f"  slab    nccl-slab run --machine {MACHINE} -- reduce_scatter_table\n"
          "Errors are the worst against fp64, relative to the sum of absolute values. Bytes are per rank and call, in\n"
          "shards (a shard: one rank's result). Promised is what the path may send across the socket boundary; the\n"
          "shortest messages are padded, and carry a flag with every word.\n\n"
          f"{'':>28} | {'worst error':^19} | {'bytes sent':^15} | {'across sockets':^16} |\n"
          f"{'elements':>8} {'type':>5} {'path':>13} | {'plain':>9} {'slab':>9} | {'plain':>7} {'slab':>7} |"
          f" {'slab':>7} {'promised':>8} | rounds", flush=True)


def check_types(rows):
    """Over all of a type's rounds the slab's worst error is not above that of plain NCCL."""
    for dtype in TYPES:
        plain, slab = (max(row.errors[which] for row in rows if row.dtype == dtype) for which in (0, 1))
        expect(slab <= plain, f"{dtype}: worst error {slab:.2e}, plain NCCL {plain:.2e}")


def main():
    start = time.monotonic()
    print_header()
    rows = []
    for dtype, count in itertools.product(TYPES, SIZES):
        rows.append(Row(count, dtype))
        rows[-1].print()
    print("For comparison, NCCL_SLAB_ALGO=flat, which knows of no sockets:")
    flat = Row(FLAT_SIZE, "bf16", "flat")
    flat.print()
    expect(flat.path == "flat", f"{FLAT_SIZE} bf16: forced to flat, path {flat.path}")
    check_types(rows)
    expect(any("graph" in row.slab.modes() for row in rows), "no graph was replayed")
    expect(any(CROSSING.get(row.path) == 1 for row in rows), "no call took an islands path")
    for failure in FAILURES:
        print(failure)
    verdict = "FAILED" if FAILURES else "OK"
    calls = sum(row.slab.calls() for row in rows)
    print(f"demo: {verdict} ({calls} calls per rank with the slab, {time.monotonic() - start:.0f} s)", flush=True)
    return 1 if FAILURES else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Exception as error:  # whatever breaks, the last line is the verdict
        traceback.print_exc()
        print(f"demo: FAILED ({error})", flush=True)
        sys.exit(1)
