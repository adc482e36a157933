"""What the README says a user sees on stderr: a line per communicator and rank, and a summary at exit.

usage: told_test.py SCENARIO
"""
import pathlib
import re
import sys

from job import SUITE, Job
from tap import run

README = pathlib.Path(__file__).resolve().parents[2] / "README.md"
RANKS = 8  # as there
ON_STDERR = {"DEBUG_FILE": "", "STATS": "1", "SETUP_TIMEOUT": "60000"}


def pattern(line):
    """An example of the README, in which ... stands for anything."""
    return re.escape(line).replace(r"\.\.\.", ".*").replace("HOST:PID", r"\S+:\d+")


def examples():
    """All that the README shows of rank 0, but for reasons that this machine does not give."""
    lines = [line.strip() for line in README.read_text(encoding="utf-8").splitlines() if "rank 0 of 8: " in line]
    return [line for line in lines if "NVLink" not in line]


def missing(job, line):
    seen = len(re.findall(f"^{pattern(line)}$", job.stderr, re.MULTILINE))
    return [] if seen == 1 else [f"{seen} times in: {job.stderr[:3000]}"]


def told(report):
    job = Job(SUITE, "--ranks", RANKS, "--case", "shapes,operations", settings=ON_STDERR)
    lines = examples()
    report.check("the README has examples", job.problems() + ([] if len(lines) == 3 else lines))
    for line in lines:
        report.check(f"the README's line: {line}", missing(job, line))
    sums = dict(re.findall(r"rank (\d) of 8: slab (\d+) calls", job.stderr))
    counted = {str(rank): str(calls) for rank, calls in enumerate(job.slab_calls(RANKS))}
    report.check("the summary has what the file has", [] if sums == counted else [f"{sums}, {counted}"])
    others = [line for line in job.stderr.splitlines() if not re.match(r"\S+:\d+ nccl-slab INFO |nccl-slab: rank \d of 8: ", line)]
    report.check("nothing else is said", others[:3])


SCENARIOS = {"told": told}

if __name__ == "__main__":
    sys.exit(run(SCENARIOS))
