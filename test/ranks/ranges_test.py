"""Ranges for profilers: one around every call that the slab takes, with what NCCL's carries, in a domain of our own.

usage: ranges_test.py SCENARIO
"""
import os
import sys

from job import SUITE, Job
from tap import run

RANKS = 2
CASES = ("--case", "shapes,average,premulsum,groups,operations")


KNOWN = ["domain", "enumeration 2",
         "schema 24; NCCL communicator ID at 0; Message size [bytes] at 8; Reduction operation at 16"]


def job(**variables):
    listener = {"NVTX_INJECTION64_PATH": os.environ["RANKS_NVTX"], "NVTX_LISTENER_FILE": "FOLDER/ranges"}
    return Job(SUITE, "--ranks", RANKS, *CASES, variables={**listener, **variables})


def heard(done):
    """The events of each process."""
    events = {}
    for line in done.ranges.splitlines():
        process, _, event = line.partition(" ")
        events.setdefault(process, []).append(event)
    return list(events.values())


def taken(done):
    """Calls and bytes of each rank, over its communicators."""
    return {tuple(sum(each["slab"][what] for each in done.statistics if each["rank"] == rank) for what in ("calls", "bytes"))
            for rank in range(RANKS)}


def misheard(done, events):
    """Of one process: what there is to know, then pairs of push and pop, as many and of as many bytes as the slab took."""
    pushes, pops = events[len(KNOWN)::2], events[len(KNOWN) + 1::2]
    good = events[:len(KNOWN)] == KNOWN and set(pops) == {"pop"} and len(pushes) == len(pops)
    good = good and all(push.startswith("push ncclReduceScatter ") for push in pushes)
    if good and (len(pushes), sum(int(push.split()[3]) for push in pushes)) in taken(done):
        return []
    return [f"{len(pushes)} ranges, not {taken(done)}; {events[:6]}"]


def communicators(events):
    return {event.split()[2] for event in events if event.startswith("push ")}


def ranges(report):
    done = job()
    ranks = heard(done)
    problems = [problem for events in ranks for problem in misheard(done, events)]
    report.check("a range for every call that the slab takes",
                 done.problems() + problems + ([] if len(ranks) == RANKS else [f"{len(ranks)} processes"]))
    numbers = [communicators(events) for events in ranks]
    report.check("ranks call a communicator alike, and two of them apart",
                 [] if all(each == numbers[0] and len(each) == 2 for each in numbers) else [str(numbers)])
    off = job(NCCL_NVTX_DISABLE="1")
    report.check("none with NCCL_NVTX_DISABLE=1", off.problems() + off.ranges.splitlines()[:3])


SCENARIOS = {"ranges": ranges}

if __name__ == "__main__":
    sys.exit(run(SCENARIOS))
