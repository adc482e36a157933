"""What wrong calls return, with us in front of NCCL and without: the same codes in the same order, and the ranks still in step.

usage: arguments_test.py SCENARIO
"""
import os
import sys

from job import WRONG, Job
from tap import run

DROP_IN = {"LD_PRELOAD": os.environ["RANKS_DROP_IN"], "NCCL_SLAB_NCCL_LIB": os.environ["RANKS_NCCL"]}
CHECKED = {"NCCL_CHECK_POINTERS": "1"}
# Ranks, further arguments, variables that NCCL sees, and how we come before it.
WAYS = {
    "2 ranks": (2, [], {}, {}),
    "5 ranks as threads": (5, ["--threads"], {}, {}),
    "with NCCL_CHECK_POINTERS=1": (3, [], CHECKED, {}),
    "with NCCL_CHECK_POINTERS=1, as threads": (3, ["--threads"], CHECKED, {}),
    "through the drop-in": (3, [], {}, DROP_IN),
}
FOR_NCCL = {"empty", "datatype", "operation", "ended"}


def lines(job):
    return sorted(job.stdout.splitlines())


def different(plain, ours):
    """The same lines, and none of them a right call that went wrong."""
    problems = [f"{word} us: {line}" for word, job, other in (("without", plain, ours), ("with", ours, plain))
                for line in sorted(set(lines(job)) - set(lines(other)))]
    wrong = [line for line in lines(plain) + lines(ours) if " in step" in line and set(line.split(": ")[1].split()) != {"0"}]
    few = [] if len(lines(plain)) > 100 else [f"{len(lines(plain))} lines"]
    return problems + [f"out of step: {line}" for line in wrong] + few


def unserved(job, ranks):
    """Where the ranks were in step, it was through us."""
    least = job.stdout.count("0 in step")
    calls = job.slab_calls(ranks)
    others = job.reasons(ranks) - FOR_NCCL
    return [f"calls that the slab took: {calls}, not {least} or more; {others}"] if min(calls) < least or others else []


def wrong_calls(report):
    for name, (ranks, arguments, variables, ways) in WAYS.items():
        command = (WRONG, "--ranks", ranks, "--destroyed", "--rare", *arguments)
        plain = Job(*command, variables={**variables, "LD_PRELOAD": ""})
        ours = Job(*command, variables={**variables, **ways})
        report.check(f"the same answers, {name}", plain.problems() + ours.problems() + different(plain, ours))
        report.check(f"the slab took what was right, {name}", unserved(ours, ranks))


def deaths(report):
    """A row of which ranks die is a line of its own, and all others are there in spite of it."""
    whole = Job(WRONG, "--rare")
    for name, row, arguments in (("all ranks", "type 99", []), ("one rank", "init of wrong ranks", []),
                                 ("a process of all ranks", "wrong, then right", ["--threads"])):
        broken = Job(WRONG, "--rare", "--dies", row, *arguments)
        differ = set(lines(whole)) ^ set(lines(broken))
        others = sorted(line for line in differ if f" {row}:" not in line and not line.startswith("wrong_calls:"))
        died = [] if any(line.endswith(f" {row}: died of signal 11") for line in differ) else ["nobody died"]
        report.check(f"all other rows, when {name} died", whole.problems() + broken.problems() + others + died)


SCENARIOS = {"wrong calls": wrong_calls, "deaths": deaths}

if __name__ == "__main__":
    sys.exit(run(SCENARIOS))
