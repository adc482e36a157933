"""The whole rank suite in one scenario: every case right, and served by the slab as far as it can be.

usage: suite_test.py SCENARIO
"""
import functools
import re
import sys

from job import REPEAT, SUITE, Job
from tap import run

SOME = ("shapes,empty,in_place,average,premulsum,skewed_calls,graph_mixed,graphs_on_two_streams,two_streams,groups,many_in_a_group,"
        "communicators,mixed_communicators,split,finalize")
SERVED = f"{SOME},other_overlaps,overlapping_in_a_group"  # which NCCL need not get right
NESTED = "(0,1|2,3)|(4,5|6,7)"
# Per scenario: ranks, further arguments, algorithms that must have served, and how the job runs.
SCENARIOS = {
    "2 ranks": (2, [], {"flat_small", "flat_push"}, {}),
    "3 ranks": (3, [], {"flat_small", "flat_push"}, {}),
    "5 ranks over two islands": (5, [], {"flat_small", "islands"}, {}),
    "8 ranks over two islands": (8, [], {"flat_small", "islands_push"}, {}),
    "6 ranks": (6, ["--case", SERVED], {"flat_small"}, {}),
    "7 ranks": (7, ["--case", SERVED], {"flat_small"}, {}),
    "3 ranks as threads": (3, ["--threads"], {"flat_small", "flat_push"}, {}),
    "8 ranks as threads": (8, ["--threads"], {"flat_small", "islands_push"}, {}),
    "4 ranks under a switch": (4, ["--case", SERVED], {"flat_small", "flat_push"}, {"machine": "4-switch"}),
    "4 ranks without peer access": (4, [], {"flat_push"}, {"machine": "4-no-p2p"}),
    "forced to flat_small": (8, ["--case", SERVED], {"flat_small", "islands_push"}, {"settings": {"ALGO": "flat_small"}}),
    "forced to flat_push": (8, ["--case", SERVED], {"flat_push"}, {"settings": {"ALGO": "flat_push"}}),
    "forced to flat": (8, ["--case", SERVED], {"flat"}, {"settings": {"ALGO": "flat"}}),
    "forced to islands_small": (8, ["--case", SERVED], {"islands_small", "islands_push"}, {"settings": {"ALGO": "islands_small"}}),
    "forced to islands_push": (8, ["--case", SERVED], {"islands_push"}, {"settings": {"ALGO": "islands_push"}}),
    "pairs, islands in parts": (4, ["--case", SERVED], {"islands_push"},
                                {"settings": {"SLAB_MIB": "1", "ALGO": "islands_push", "ISLANDS": "0,1|2,3"}}),
    "forced to islands": (8, ["--case", SERVED], {"islands"}, {"settings": {"ALGO": "islands"}}),
    "forced to nested": (8, ["--case", SERVED], {"nested"}, {"settings": {"ALGO": "nested", "ISLANDS": NESTED}}),
    "mailboxes in host memory": (8, ["--case", SERVED], {"flat_push", "islands_push"}, {"settings": {"TRANSPORT": "host"}}),
    "peer access switched off in NCCL": (4, ["--case", SERVED], {"flat_push"}, {"variables": {"NCCL_P2P_DISABLE": "1"}}),
    "alternating islands": (8, ["--case", SERVED], {"flat_small", "islands_push"}, {"settings": {"ISLANDS": "0,2,4,6|1,3,5,7"}}),
    "uneven islands": (8, ["--case", SERVED], {"flat_small", "islands"}, {"settings": {"ISLANDS": "0,1,2|3,4,5,6,7"}}),
    "a slab of one MiB": (5, ["--case", SERVED], {"flat_small", "islands"}, {"settings": {"SLAB_MIB": "1"}}),
    "shards in parts": (3, ["--case", SERVED], {"flat_push"}, {"settings": {"SLAB_MIB": "1", "ALGO": "flat_push"}}),
    "one device": (2, ["--case", SERVED, "--same-device"], {"flat_small", "flat_push"}, {"settings": {"FORCE": "1"}}),
}
IN_HOST_MEMORY = {"4 ranks without peer access", "mailboxes in host memory", "peer access switched off in NCCL"}
# What NCCL does for the suite: no data, types other than bf16, fp16 and fp32, operations other than sums, what has grown.
FOR_NCCL = {"empty", "datatype", "operation", "unnamed"}
OPERATIONS_FOR_NCCL = 3 * 4 + 1  # three types with product, minimum, maximum and a captured maximum; one operation that does not exist
DATATYPES_FOR_NCCL = 7 * 5 + 3  # seven types with five operations; three that do not exist
PROGRAM_LINE = re.compile(r"^(case \w+: .*|rank_suite: \w+)$")


def check_cases(report, job):
    lines = re.findall(r"^case (\w+): (.*)$", job.stdout, re.MULTILINE)
    for name, result in lines:
        report.check(name, [] if result == "ok" else [result])
    report.check("the program", job.problems() if lines else [job.output()])


def unserved(job, ranks):
    """Communicators of one rank are NCCL's; of all others only what NCCL alone can do. For some cases rank 0 stays away."""
    problems = []
    for each in job.statistics:
        allowed = FOR_NCCL | {"one_rank"} if each["nranks"] == 1 else FOR_NCCL
        for reason in set(each["forward"]) - allowed:
            problems.append(f"rank {each['rank']} of {each['nranks']}: {each['forward'][reason]['calls']} calls went to NCCL: {reason}")
    calls = job.slab_calls(ranks)
    calls[0] += sum(f"case {name}_waiting" in job.stdout for name in ("abort", "shrink", "revoke") if ranks > 2 or name == "abort")
    if min(calls) < 10 or min(calls) != max(calls):
        problems.append(f"calls that the slab took, by rank: {calls}")
    return problems


def miscounted(job, ranks):
    wanted = {"operation": OPERATIONS_FOR_NCCL, "datatype": DATATYPES_FOR_NCCL}
    return [f"rank {rank}: {job.forwarded(ranks, rank, reason)} calls forwarded for {reason}, not {count}"
            for rank in range(ranks) for reason, count in wanted.items() if job.forwarded(ranks, rank, reason) != count]


def misplaced(job, in_host_memory):
    """Where the mailboxes were, from the log and the links."""
    between = job.crossed([[device] for device in range(8)])
    words = {False: "mailboxes in GPU memory", True: "mailboxes in host memory"}
    problems = [] if words[in_host_memory] in job.log else [f"the log does not say: {words[in_host_memory]}"]
    if in_host_memory and (between or words[False] in job.log):
        problems.append(f"{between} bytes went from device to device")
    return problems


def noise(job):
    problems = [f"on stdout: {line}" for line in job.stdout.splitlines() if not PROGRAM_LINE.match(line)]
    return problems + ([f"on stderr: {job.stderr[:2000]}"] if job.stderr else [])


def rank_suite(report, name):
    ranks, arguments, algorithms, how = SCENARIOS[name]
    how = {**how, "settings": {"SETUP_TIMEOUT": "60000", **how.get("settings", {})}}  # for a loaded machine
    job = Job(SUITE, "--ranks", ranks, "--repeat", 10 * REPEAT, *arguments, **how)
    check_cases(report, job)
    report.check("the slab took every call that it can", unserved(job, ranks))
    if "--case" not in arguments:
        report.check("NCCL got the others, each once", miscounted(job, ranks))
    found = job.algorithms()
    report.check("the algorithms are those of the scenario", [] if algorithms <= found else [f"only {sorted(found)}"])
    if "--same-device" not in arguments:
        report.check("the mailboxes are where they should be", misplaced(job, name in IN_HOST_MEMORY))
    report.check("nothing on stdout or stderr but the program's", noise(job))


def short_of_time(report):
    """Set-ups that run out of time in any stage: whoever then serves a communicator, all is right, and nothing is left that a
    sanitizer complains of."""
    job = Job(SUITE, "--ranks", 3, "--threads", "--repeat", 3 * REPEAT, "--case", SOME, settings={"SETUP_TIMEOUT": "30"})
    check_cases(report, job)
    report.check("nothing on stdout or stderr but the program's", noise(job))


if __name__ == "__main__":
    sys.exit(run({"short of time": short_of_time, **{name: functools.partial(rank_suite, name=name) for name in SCENARIOS}}))
