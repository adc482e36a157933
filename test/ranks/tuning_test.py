"""Tuning tables: read by every rank at set-up, and used only where all ranks have read the same one.

usage: tuning_test.py SCENARIO
"""
import os
import pathlib
import sys
import tempfile

from job import Job, LoneRanks
from tap import run

RANKS = 4
PATIENT = {"SETUP_TIMEOUT": "60000"}  # for a loaded machine
COUNT = 512  # small enough for the small algorithm, which is what is chosen untuned


def known_key():
    """The first words of a table's lines for these ranks, from the measuring program."""
    job = Job(os.environ["RANKS_BENCH"], "--rows", "--tune", "--ranks", RANKS, "--sizes", "1K", "--repeats", 1,
              "--repeat-ms", 1, settings={**PATIENT, "TUNE_FILE": "/dev/null"})
    choices = [line.split() for line in job.stdout.splitlines() if line.startswith("choice ")]
    return " ".join(choices[0][8:]), job.problems()


class Tables:
    """Files in a folder of their own."""

    def __init__(self, key):
        self.folder = tempfile.TemporaryDirectory(prefix="nccl-slab-tables-")
        self.key = key

    def write(self, name, *plans):
        path = pathlib.Path(self.folder.name, name)
        lines = [f"{self.key} bf16 {bytes} {plan} 1.0\n" for bytes, plan in plans]
        path.write_text("# nccl-slab tuning table, format 1\n" + "".join(lines))
        return {"TUNE_FILE": str(path)}

    def break_one(self, name):
        settings = self.write(name, (1024, "flat:channels=1,chunk=8"))
        with open(settings["TUNE_FILE"], "a", encoding="utf-8") as file:
            file.write("not an entry\n")
        return settings


def judged(job, algorithms, untuned=None):
    problems = job.problems()
    if job.algorithms() != algorithms:
        problems.append(f"algorithms {sorted(job.algorithms())}, not {sorted(algorithms)}")
    if untuned and job.bits() != untuned.bits():
        problems.append("other bits than untuned")
    return problems


def lone(settings, odd=None):
    odd_variables = {rank: {f"NCCL_SLAB_{name}": value for name, value in each.items()} for rank, each in (odd or {}).items()}
    return LoneRanks(RANKS, "--count", COUNT, settings={**PATIENT, **settings}, odd=odd_variables)


def tuning(report):
    key, problems = known_key()
    report.check("every plan of a size is tried and right", problems)
    tables = Tables(key)
    flat, other = tables.write("flat", (1024, "flat:channels=1,chunk=8")), tables.write("other", (1024, "flat:channels=1"))
    untuned = lone({"TUNE_FILE": "/dev/null"})
    small = untuned.algorithms()
    report.check("untuned", judged(untuned, small) + (["flat is chosen untuned"] if "flat" in small else []))
    report.check("a table is used", judged(lone(flat), {"flat"}, untuned))
    report.check("one rank with another table: untuned", judged(lone(flat, {1: other}), small, untuned))
    report.check("one rank without a table: untuned", judged(lone(flat, {2: {"TUNE_FILE": "/dev/null"}}), small, untuned))
    broken = lone(tables.break_one("broken"))
    told = broken.log.count("is not used: line 3")
    report.check("a broken table is told of once a rank and not used",
                 judged(broken, small, untuned) + ([] if told == RANKS else [f"told {told} times: {broken.log[:2000]}"]))
    foreign = tables.write("foreign", (1024, "flat"))
    pathlib.Path(foreign["TUNE_FILE"]).write_text(
        pathlib.Path(foreign["TUNE_FILE"]).read_text().replace(key.split()[-1] + " bf16", "0.0.0 bf16"))
    report.check("entries of another version are not used", judged(lone(foreign), small, untuned))
    forced = lone({**flat, "ALGO": "flat_small"})
    report.check("a forced algorithm comes before the table", judged(forced, {"flat_small"}, untuned))


SCENARIOS = {"tuning": tuning}

if __name__ == "__main__":
    sys.exit(run(SCENARIOS))
