"""Ranks that die and communicators that are aborted while kernels of others wait.

usage: failures_test.py SCENARIO
"""
import re
import sys

from job import LoneRanks
from tap import run

RANKS = 4
SECONDS = 20  # for what takes milliseconds; generous, for a loaded machine


def figures(job, pattern):
    return [float(figure) for figure in re.findall(pattern, job.stdout)]


def outlived(job):
    """Rank 0 was killed. The others saw an error, aborted soon, and had made their earlier calls by the slab."""
    problems = [] if job.statuses == [-9] + [0] * (RANKS - 1) else [f"statuses {job.statuses}", job.output()]
    noticed = figures(job, r"asynchronous error \d+ after (\d+) ms")
    aborted = figures(job, r"aborted in (\d+) ms")
    for name, times in (("noticed", noticed), ("aborted", aborted)):
        if len(times) != RANKS - 1 or max(times) > SECONDS * 1000:
            problems.append(f"{name} after {times} ms")
    if any(calls < 4 for calls in job.slab_calls(RANKS)[1:]):  # the dead one counts nothing
        problems.append(f"calls that the slab took: {job.slab_calls(RANKS)}")
    return problems


def served(job, calls):
    """Every rank right, and by the slab."""
    taken = job.slab_calls(RANKS)
    return job.problems() + ([] if min(taken) >= calls else [f"calls that the slab took: {taken}"])


def killed(report):
    for name, settings in (("mailboxes in GPU memory", {}), ("mailboxes in host memory", {"TRANSPORT": "host"}),
                           ("a tree", {"ALGO": "flat"})):
        job = LoneRanks(RANKS, "--die-at", 2, settings=settings)
        report.check(f"one rank is killed while the others wait, {name}", outlived(job))
    report.check("a new job after it", served(LoneRanks(RANKS), 6))


def aborted(report):
    job = LoneRanks(RANKS, "--abort-other", "--count", 100003)
    report.check("one communicator is aborted while another one waits", served(job, 7))


SCENARIOS = {"killed": killed, "aborted": aborted}

if __name__ == "__main__":
    sys.exit(run(SCENARIOS))
