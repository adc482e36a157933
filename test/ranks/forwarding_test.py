"""When NCCL must serve a communicator: all ranks forward at once, for the same reason, and the results are right.

usage: forwarding_test.py SCENARIO
"""
import sys

from job import SUITE, WATCHED, Job, LoneRanks
from tap import run

RANKS = 4
# Nothing may wait for this; a job that took so long has waited.
LONG = {"SETUP_TIMEOUT": "100000"}
SOON = 90  # seconds for a whole job on a busy machine; who waits for a limit waits for LONG
QUIET = {"NCCL_SLAB_DEBUG": "", "NCCL_SLAB_DEBUG_FILE": ""}
SHAPES = ("--case", "shapes,in_place,average,graph_mixed,groups")
# Settings that ranks must share, with a value that is not the default.
SHARED = {"ALGO": "flat", "TRANSPORT": "host", "ISLANDS": "0,1|2,3", "OPS": "sum", "SLAB_MIB": "4", "FORCE": "1"}


def differing(job, ranks, reason, silent=()):
    """What differs from: every rank (but the silent ones, which count nothing) forwards every call for that reason alone. Where
    a rank is missing, one that hears of it from a peer that has left may name setup_failed: the answer is the same."""
    reasons = {reason, "setup_failed"} if reason == "missing_rank" else {reason}
    problems = job.problems()
    if any(job.slab_calls(ranks)):
        problems.append(f"the slab took calls: {job.slab_calls(ranks)}")
    for rank in set(range(ranks)) - set(silent):
        if not any(job.forwarded(ranks, rank, word) for word in reasons):
            problems.append(f"rank {rank} forwarded nothing for {reason}")
    if job.reasons(ranks) - reasons:
        problems.append(f"reasons: {sorted(job.reasons(ranks))}")
    if job.stderr:
        problems.append(f"on stderr: {job.stderr[:2000]}")
    if job.seconds > SOON:
        problems.append(f"took {job.seconds:.0f} s")
    return problems


def odd_ranks(report):
    """One rank that is not like the others; ranks start one by one, so that each has its own environment."""
    job = LoneRanks(RANKS, settings=LONG, odd={1: {"NCCL_SLAB_ENABLE": "0"}})
    report.check("one rank is switched off", differing(job, RANKS, "missing_rank", silent=[1]))
    job = LoneRanks(RANKS, settings=LONG, odd={2: {"LD_PRELOAD": ""}})
    report.check("one rank runs without the preload", differing(job, RANKS, "missing_rank", silent=[2]))
    job = LoneRanks(RANKS, settings={"ENABLE": "0"})
    report.check("all ranks are switched off", job.problems() + [f"counted: {job.statistics}"] * bool(job.statistics))
    for setting, value in SHARED.items():
        job = LoneRanks(RANKS, settings=LONG, odd={3: {f"NCCL_SLAB_{setting}": value}})
        report.check(f"one rank has another {setting}", differing(job, RANKS, "settings_differ"))


def told(job, why):
    """Every rank has told why, of every communicator of the job."""
    times = job.log.count(why)
    return [] if times >= RANKS and times == job.log.count("NCCL serves this communicator: ") else [job.log[:2000]]


def devices(report):
    job = Job(SUITE, "--ranks", 2, "--same-device", *SHAPES, settings=LONG)
    report.check("two ranks on one device", differing(job, 2, "same_gpu"))
    job = Job(SUITE, "--ranks", 10, "--same-device", "--case", "shapes", settings=LONG, variables=QUIET)
    report.check("more ranks than the slab supports, without noise", differing(job, 10, "too_many_ranks"))
    for ranks in ([], ["--threads"]):
        job = Job(SUITE, "--ranks", RANKS, *ranks, *SHAPES, faults="fault no-kernel 1 code=209 from=64", settings=LONG)
        named = told(job, "no kernel in this build: rank 1 (")
        report.check(f"one GPU is of an architecture without kernels {''.join(ranks)}", differing(job, RANKS, "no_kernel") + named)
        job = Job(SUITE, "--ranks", RANKS, *ranks, *SHAPES, faults="fault properties 1 code=999", settings=LONG)
        why = "NCCL serves this communicator: a rank cannot ask CUDA about its GPU: rank 1: cudaGetDeviceProperties: cudaErrorUnknown"
        named = told(job, why)
        report.check(f"one rank cannot ask CUDA about its GPU {''.join(ranks)}", differing(job, RANKS, "unknown_gpu") + named)
    job = Job(SUITE, "--ranks", RANKS, *SHAPES, settings=LONG,
              variables={"NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1"})
    report.check("NCCL's settings leave no way", differing(job, RANKS, "no_transport"))


def launches(report):
    """A launch that returns when its kernel has ended: alone in a process a rank has no rank to wait for there."""
    blocking = {"CUDA_LAUNCH_BLOCKING": "1"}
    job = Job(SUITE, "--ranks", RANKS, "--threads", *SHAPES, settings=LONG, variables=blocking)
    report.check("blocking launches, ranks as threads", differing(job, RANKS, "blocking_launches"))
    job = Job(SUITE, "--ranks", RANKS, "--case", "shapes,in_place,average,groups,large_group,stream_kinds", variables=blocking)
    report.check("blocking launches, a process per rank",
                 job.problems() + ([] if min(job.slab_calls(RANKS)) > 10 and job.reasons(RANKS) <= {"datatype"} else [f"{job.statistics}"]))


def limits(report):
    job = Job(SUITE, "--ranks", RANKS, *SHAPES, settings={"SETUP_TIMEOUT": "1"})
    slow = job.reasons(RANKS) <= {"setup_timeout", "missing_rank", "setup_failed", "self_test_failed"}
    report.check("one millisecond for the set-up", job.problems() + ([] if slow else [f"{job.reasons(RANKS)}"]))
    job = Job(SUITE, "--ranks", RANKS, "--case", "shapes", settings=LONG, variables={"NCCL_COMM_ID": "127.0.0.1:12345"})
    told = job.log.count("NCCL serves this communicator: its ranks cannot derive a name for it alike")
    report.check("communicators without a name are told of once a rank, and counted",
                 differing(job, RANKS, "unnamed") + ([] if told == RANKS else [f"{told} times: {job.output()}"]))
    job = Job(SUITE, "--ranks", RANKS, "--case", "grow", settings=LONG)
    told = job.log.count(f"of {RANKS}: NCCL serves this communicator: its ranks cannot derive a name for it alike")
    counted = [job.forwarded(RANKS, rank, "unnamed") for rank in range(RANKS)]
    report.check("a communicator that has grown is told of, and counted",
                 job.problems() + ([] if told == RANKS and min(counted) > 0 else [f"{told} times, {counted}: {job.output()}"]))
    job = Job(SUITE, "--ranks", RANKS, "--case", "average,premulsum", settings={**LONG, "OPS": "sum"})
    report.check("operations that a setting leaves to NCCL",
                 job.problems() + ([] if job.reasons(RANKS) == {"operation_setting", "datatype"} else [str(job.statistics)]))


def untouched(report):
    """Machines that reset under peer traffic: no peer's memory is reached, and nothing of ours allocated or launched, before all ranks
    have found that they may."""
    reach = {"cudaDeviceEnablePeerAccess", "cudaIpcGetMemHandle", "cudaIpcOpenMemHandle"}
    look = {"cudaGetDevice", "cudaSetDevice", "cudaThreadExchangeStreamCaptureMode", "cudaDeviceGetPCIBusId"}

    def suite(*more, variables=None, **how):
        return Job(SUITE, "--ranks", RANKS, "--case", "shapes", *more, variables={**WATCHED, **(variables or {})}, **how)

    def calls(job, good):
        return job.problems() + ([] if good(job.cuda_calls) else [f"calls: {sorted(job.cuda_calls)}"])

    report.check("all that is told of: the slab, ranks as processes",
                 calls(suite(), lambda made: made > {"cudaDeviceGetPCIBusId", "cudaIpcOpenMemHandle", "cudaMalloc", "cudaHostAlloc", "cudaLaunchKernel"}))
    report.check("all that is told of: the slab, ranks as threads",
                 calls(suite("--threads"), lambda made: "cudaDeviceEnablePeerAccess" in made))
    for ranks in ([], ["--threads"]):
        job = suite(*ranks, settings={"ENABLE": "0"})
        report.check(f"switched off: no call at all {''.join(ranks)}", calls(job, lambda made: not made))
    for name, how in (("ranks on two hosts", {"faults": "host 2 b; host 3 b"}),
                      ("no way", {"variables": {"NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1"}})):
        report.check(f"{name}: a look at the device only", calls(suite(settings=LONG, **how), lambda made: "cudaDeviceGetPCIBusId" in made and made <= look))
    for name, odd in (("a rank is switched off", {"NCCL_SLAB_ENABLE": "0"}), ("a rank has other settings", {"NCCL_SLAB_ALGO": "flat"})):
        job = LoneRanks(RANKS, settings=LONG, odd={1: odd}, variables=WATCHED)
        report.check(f"{name}: a look at the device at most", calls(job, lambda made: made <= look))
    for name, how in (("NCCL_P2P_DISABLE", {"variables": {"NCCL_P2P_DISABLE": "1"}}),
                      ("NCCL_P2P_LEVEL", {"variables": {"NCCL_P2P_LEVEL": "PIX"}}), ("a setting", {"settings": {"TRANSPORT": "host"}})):
        for ranks in ([], ["--threads"]):
            job = suite(*ranks, **how)
            report.check(f"no peer access by {name}: the slab serves without {''.join(ranks)}",
                         calls(job, lambda made: "cudaHostRegister" in made and not made & reach))


SCENARIOS = {"odd ranks": odd_ranks, "devices": devices, "launches": launches, "limits": limits, "untouched": untouched}

if __name__ == "__main__":
    sys.exit(run(SCENARIOS))
