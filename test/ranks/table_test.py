"""Plans, errors and bytes: what reduce_scatter_table measures under the preload, scenario by scenario.

usage: table_test.py SCENARIO
"""
import sys

from forwarding_test import LONG
from job import REPEAT, SUITE, TABLE, WHEN_CREATED, Job, LoneRanks
from tap import run

SOCKETS = [[0, 1, 2, 3], [4, 5, 6, 7]]
PARITIES = [[0, 2, 4, 6], [1, 3, 5, 7]]
UNEVEN = [[0, 1, 2], [3, 4, 5, 6, 7]]
PAIRS = [[0, 1], [2, 3], [4, 5], [6, 7]]
NESTED = "(0,1|2,3)|(4,5|6,7)"
COUNT, BYTES = 65536, 2  # elements of a shard in bf16
# Per plan: settings, groups of devices, shards that all ranks together send to another group in one call.
PLANS = {
    "islands over sockets": ({"ALGO": "islands"}, SOCKETS, 8 * 1),
    "islands_push over sockets": ({"ALGO": "islands_push"}, SOCKETS, 8 * 1),
    "islands_push": ({"ALGO": "islands_push"}, [[device] for device in range(8)], 8 * 7),
    "flat over sockets": ({"ALGO": "flat"}, SOCKETS, 8 * 4),
    "alternating islands": ({"ISLANDS": "0,2,4,6|1,3,5,7"}, PARITIES, 8 * 1),
    "uneven islands": ({"ISLANDS": "0,1,2|3,4,5,6,7"}, UNEVEN, 3 * 5 / 3 + 5 * 3 / 5),
    "nested over sockets": ({"ALGO": "nested", "ISLANDS": NESTED}, SOCKETS, 8 * 1),
    "nested over pairs": ({"ALGO": "nested", "ISLANDS": NESTED}, PAIRS, 8 * 3),
    "everything": ({"ALGO": "islands"}, [[device] for device in range(8)], 8 * 7),
}


def table(*arguments, ranks=8, **how):
    return Job(TABLE, "--ranks", ranks, "--json", "FOLDER/report", *arguments, **how)


def unserved(job, ranks):
    """Every round is one call of ours per rank (a captured one too, however often it is replayed); empty ones are NCCL's."""
    rounds = job.report.get("rounds", [])
    wanted, empty = (sum((each["count"] > 0) == full for each in rounds) for full in (True, False))
    problems = [] if wanted else ["no rounds"]
    for rank, calls in enumerate(job.slab_calls(ranks)):
        others = job.forwarded(ranks, rank, "empty")
        if calls != wanted or others != empty or job.reasons(ranks) - {"empty"}:
            problems.append(f"rank {rank}: {calls} of {wanted} calls by the slab, {others} of {empty} empty ones; {job.reasons(ranks)}")
    return problems


def crossing(report):
    """Bytes per plan, to the byte where shards divide evenly, whatever the set-up has moved: measuring peer memory takes longer
    on one day than on the other, and is left out where peer memory is asked for."""
    for transport, names in (("auto", ["islands over sockets"]), ("peer", PLANS)):
        for name in names:
            settings, groups, shards = PLANS[name]
            job = table("--sizes", COUNT, "--dtypes", "bf16", *WHEN_CREATED, settings={**settings, **LONG, "TRANSPORT": transport})
            calls = sum(each["calls"] for each in job.report.get("rounds", []))
            sent, wanted = job.crossed(groups), calls * shards * COUNT * BYTES
            tolerance = wanted / 100 if groups is UNEVEN else 0  # pieces are cut at whole packs
            fine = calls and abs(sent - wanted) <= tolerance
            report.check(f"bytes between groups, {name}, transport {transport}", job.problems() + unserved(job, 8) +
                         ([] if fine else [f"{sent} bytes in {calls} calls, not {wanted}"]))


def accuracy(report):
    """A million random elements of each 16-bit type: worst and mean error not above a ring's."""
    for name, settings in (("islands_push", {}), ("islands", {"ALGO": "islands"}), ("flat", {"ALGO": "flat"}), ("nested", {"ISLANDS": NESTED})):
        job = table("--sizes", "131072", "--dtypes", "bf16,fp16", "--not-above-ring", settings=settings)
        elements = {each["dtype"]: each["elements"] for each in job.report.get("rounds", [])}
        few = [f"only {count} elements of {dtype}" for dtype, count in elements.items() if count < 1e6]
        report.check(f"error of a million elements, {name}", job.problems() + unserved(job, 8) + few)


def sizes(report):
    for ranks in (2, 3, 5, 6, 7, 8):
        job = table("--sizes", "0,1,7,256,4099,40000", ranks=ranks)
        report.check(f"sizes, {ranks} ranks", job.problems() + unserved(job, ranks))


def fresh_starts(report):
    """The same inputs give the same bits in five jobs, on every path."""
    for name, settings in (("islands", {"ALGO": "islands"}), ("flat", {"ALGO": "flat"}), ("flat_small", {"ALGO": "flat_small"}), ("flat_push", {"ALGO": "flat_push"}),
                           ("islands_small", {"ALGO": "islands_small"}), ("islands_push", {"ALGO": "islands_push"})):
        jobs = [LoneRanks(8, "--count", 5003, settings=settings) for _ in range(5)]
        bits = [job.bits() for job in jobs]
        problems = [problem for job in jobs for problem in job.problems()]
        if len(bits[0]) != 8 or len(set(bits[0].values())) < 2 or any(other != bits[0] for other in bits):
            problems.append(f"digests by rank: {bits}")
        if any(min(job.slab_calls(8)) != 6 for job in jobs):
            problems.append(f"calls that the slab took: {[job.slab_calls(8) for job in jobs]}")
        report.check(f"same bits in five jobs, {name}", problems)


def huge(report):
    """More than 2^31 elements and 4 GiB: with two ranks, 13 GiB of memory."""
    name = "more than 2^31 elements"
    with open("/proc/meminfo", encoding="ascii") as lines:
        available = next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable")) >> 20
    if REPEAT == 1:
        return report.skip(name, "tools/test --full runs it")
    if available < 16:
        return report.skip(name, f"{available} GiB of memory are free, 16 are needed")
    job = Job(SUITE, "--ranks", 2, "--case", "huge", "--limit", 1000)
    return report.check(name, job.problems() + ([] if job.slab_calls(2) == [1, 1] else [f"{job.statistics}"]))


SCENARIOS = {"crossing": crossing, "accuracy": accuracy, "sizes": sizes, "fresh starts": fresh_starts, "huge": huge}

if __name__ == "__main__":
    sys.exit(run(SCENARIOS))
