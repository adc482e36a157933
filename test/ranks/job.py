"""Jobs: NCCL programs that know nothing of us, under the preload on an emulated machine, and what is left behind: their
output, the library's statistics and log, and the bytes that went over the links.

Meson says in the environment where the preload (RANKS_PRELOAD) and the programs (RANKS_SUITE, ...) are.
"""
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import time

SUITE, TABLE, LONE, WRONG = (os.environ[f"RANKS_{name}"] for name in ("SUITE", "TABLE", "LONE", "WRONG"))
# Lets the library's CUDA calls be noted.
WATCHED = {"LD_PRELOAD": f"{os.environ['RANKS_CUDA_CALLS']}:{os.environ['RANKS_PRELOAD']}", "CUDA_CALLS": "FOLDER/cuda_calls"}
REPEAT = int(os.environ.get("NCCL_SLAB_TEST_REPEAT", "1"))  # more in tools/test --full
SLOWER = 5 if os.environ.get("NCCL_SLAB_TEST_SANITIZER") else 1
LIMIT = 300 * REPEAT * SLOWER  # seconds, for one job
# For reduce_scatter_table: Job.links then holds the calls' bytes without those of setting up, which are not the same every time.
WHEN_CREATED = ("--when-created", "cp FOLDER/links FOLDER/links.created")
COUNTED_DEVICES = 32  # rows and columns of the machine's counters, after one for host memory


class Job:
    """One job, run to its end. `settings` are the library's, without NCCL_SLAB_; variables are any others. FOLDER in
    these and in the command stands for a folder of the job's own."""

    def __init__(self, *command, machine="8-4+4", faults="", settings=None, variables=None, started=None):
        with tempfile.TemporaryDirectory(prefix="nccl-slab-ranks-") as folder:
            self.folder = pathlib.Path(folder)
            if started:
                started(self.folder)
            self.environment = {**os.environ, "NCCL_SLAB_MACHINE": machine, "NCCL_SLAB_MACHINE_FAULTS": faults,
                                "NCCL_SLAB_MACHINE_STATE": str(self.folder / "links"),
                                "NCCL_SLAB_STATS_FILE": str(self.folder / "statistics.%p"),
                                "NCCL_SLAB_DEBUG_FILE": str(self.folder / "log"), "NCCL_SLAB_DEBUG": "INFO",
                                "NCCL_SLAB_TUNE_FILE": "/dev/null",  # not the user's
                                "LD_PRELOAD": os.environ["RANKS_PRELOAD"],
                                **{name: value.replace("FOLDER", folder) for name, value in (variables or {}).items()},
                                **{f"NCCL_SLAB_{name}": value for name, value in (settings or {}).items()}}
            # Meson's search path leads to the drop-in, which would serve ranks that are meant to run without us.
            self.environment.pop("LD_LIBRARY_PATH", None)
            start = time.monotonic()
            self.run([str(word).replace("FOLDER", folder) for word in command])
            self.seconds = time.monotonic() - start
            self.statistics = [each for path in sorted(self.folder.glob("statistics.*"))
                               for each in json.loads(path.read_text())]
            self.links = self.read_links()
            self.log, self.ranges = self.read("log"), self.read("ranges")
            self.cuda_calls = set(self.read("cuda_calls").split())  # where WATCHED is among the variables
            self.report = json.loads(self.read("report") or "{}")

    def run(self, command):
        process = subprocess.Popen(command, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.status, self.stdout, self.stderr = end_of(process)

    def read(self, name):
        path = self.folder / name
        return path.read_text() if path.exists() else ""

    def read_links(self):
        """bytes[from][to] between devices; row and column -1 are host memory. Less those of a copy made WHEN_CREATED."""
        side = COUNTED_DEVICES + 1
        end, start = ([*struct.unpack_from(f"<{1 + side * side}Q", path.read_bytes())][1:] if path.exists() else [0] * side * side
                      for path in (self.folder / "links", self.folder / "links.created"))
        numbers = [after - before for after, before in zip(end, start)]
        rows = [numbers[row * side : (row + 1) * side] for row in range(side)]
        return [list(row[1:]) + [row[0]] for row in rows[1:] + rows[:1]]

    @staticmethod
    def freeze(folder, device):
        """Kernels on a device of the job in that folder stop at their next store or wait."""
        side = COUNTED_DEVICES + 1
        with open(folder / "links", "r+b") as state:
            state.seek(8 * (1 + side * side) + 4 * device)
            state.write((1).to_bytes(4, sys.byteorder))

    @staticmethod
    def thaw(folder):
        """Lets all devices of the job in that folder go on (fault freeze): their words lie behind the counters."""
        side = COUNTED_DEVICES + 1
        with open(folder / "links", "r+b") as state:
            state.seek(8 * (1 + side * side))
            state.write(bytes(4 * COUNTED_DEVICES))

    def crossed(self, groups):
        """Bytes that went from a device to one of another group; groups: a list of lists of devices."""
        group_of = {device: number for number, group in enumerate(groups) for device in group}
        return sum(self.links[source][target] for source in group_of for target in group_of
                   if group_of[source] != group_of[target])

    def output(self):
        return f"exit status {self.status}\n{self.stdout[-3000:]}\n{self.stderr[-3000:]}\n{self.log[-3000:]}"

    def problems(self):
        return [] if self.status == 0 else [self.output()]

    def reasons(self, of_ranks):
        """Why calls of communicators with so many ranks were forwarded: a set of words."""
        return {word for each in self.statistics if each["nranks"] == of_ranks for word in each["forward"]}

    def algorithms(self):
        return {word for each in self.statistics for word in each["algorithms"]}

    def slab_calls(self, of_ranks):
        """Calls that the slab took, of each rank, over all communicators with so many ranks."""
        calls = [0] * of_ranks
        for each in self.statistics:
            if each["nranks"] == of_ranks:
                calls[each["rank"]] += each["slab"]["calls"]
        return calls

    def forwarded(self, of_ranks, rank, reason):
        return sum(each["forward"].get(reason, {"calls": 0})["calls"] for each in self.statistics
                   if each["nranks"] == of_ranks and each["rank"] == rank)


class LoneRanks(Job):
    """A job whose ranks are started one by one (test/programs/lone_rank). `odd` gives some ranks variables of their own,
    `wrappers` a command that starts them."""

    def __init__(self, ranks, *arguments, odd=None, wrappers=None, **how):
        self.ranks, self.odd, self.wrappers = ranks, odd or {}, wrappers or {}
        super().__init__(LONE, "--ranks", ranks, "--id", "FOLDER/id", *arguments, **how)

    def run(self, command):
        processes = [subprocess.Popen([*self.wrappers.get(rank, []), *command, "--rank", str(rank)],
                                      env={**self.environment, **self.odd.get(rank, {})},
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                     for rank in range(self.ranks)]
        ends = [end_of(process) for process in processes]
        self.statuses = [status for status, _, _ in ends]
        self.status = next((status for status in self.statuses if status), 0)
        self.stdout = "".join(stdout for _, stdout, _ in ends)
        self.stderr = "".join(stderr for _, _, stderr in ends)

    def bits(self):
        """Digests of the results, by rank."""
        words = [line.split() for line in self.stdout.splitlines() if ": bits " in line]
        return {int(line[1].rstrip(":")): line[3] for line in words}


def end_of(process):
    try:
        stdout, stderr = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        stdout, stderr = process.communicate()
        stderr += f"\nno end after {LIMIT} s"
    return process.returncode, stdout, stderr
