"""Ranks that die and communicators that are aborted while kernels of others wait.

usage: failures_test.py SCENARIO
"""
import re
import sys

from job import LoneRanks
from tap import run

RANKS = 4
PATIENT = {"SETUP_TIMEOUT": "60000"}  # for a loaded machine
STAY = 3000  # milliseconds; what follows on an end has come by then
SECONDS = 20  # for what takes milliseconds; generous, for a loaded machine


def figures(job, pattern):
    return [float(figure) for figure in re.findall(pattern, job.stdout)]


def outlived(job, status=-9):
    """Rank 0 has ended. The others saw an error, aborted soon, and had made their earlier calls by the slab."""
    problems = [] if job.statuses == [status] + [0] * (RANKS - 1) else [f"statuses {job.statuses}", job.output()]
    noticed = figures(job, r"asynchronous error \d+ after (\d+) ms")
    aborted = figures(job, r"aborted in (\d+) ms")
    for name, times in (("noticed", noticed), ("aborted", aborted)):
        if len(times) != RANKS - 1 or max(times) > SECONDS * 1000:
            problems.append(f"{name} after {times} ms")
    if any(calls < 4 for calls in job.slab_calls(RANKS)[1:]):  # the dead one counts nothing
        problems.append(f"calls that the slab took: {job.slab_calls(RANKS)}")
    told = len(re.findall(f"WARN rank 0 of a communicator has {'died' if status < 0 else 'exited'} while ", job.log))
    return problems + ([] if told == RANKS - 1 else [f"{told} ranks tell why: {job.log[-3000:]}"])


def served(job, calls):
    """Every rank right, and by the slab."""
    taken = job.slab_calls(RANKS)
    return job.problems() + ([] if min(taken) >= calls else [f"calls that the slab took: {taken}"])


def killed(report):
    for name, settings in (("mailboxes in GPU memory", {}), ("mailboxes in host memory", {"TRANSPORT": "host"}),
                           ("a tree", {"ALGO": "flat"})):
        job = LoneRanks(RANKS, "--die-at", 2, "--stay", STAY, settings={**PATIENT, **settings})
        report.check(f"one rank is killed while the others wait, {name}", outlived(job))
    report.check("a new job after it", served(LoneRanks(RANKS, settings=PATIENT), 6))


def aborted(report):
    job = LoneRanks(RANKS, "--abort-other", "--count", 100003, settings=PATIENT)
    report.check("one communicator is aborted while another one waits", served(job, 7))


def ended(report):
    """Rank 0 hears of the others' ends, when nobody needs them any more."""
    for name, arguments in (("ends in order", []), ("just exits", ["--keep"])):
        job = LoneRanks(RANKS, "--stay", STAY, *arguments, settings=PATIENT)
        noise = [line for line in job.log.splitlines() if "of a communicator has" in line or " WARN " in line]
        report.check(f"a job that {name} is silent", served(job, 6) + noise)
    job = LoneRanks(RANKS, "--exit-at", 2, "--stay", STAY, settings=PATIENT)
    report.check("one rank exits while the others wait", outlived(job, status=3))


SCENARIOS = {"killed": killed, "aborted": aborted, "ended": ended}

if __name__ == "__main__":
    sys.exit(run(SCENARIOS))
