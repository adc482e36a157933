"""Machines that lie, fail or hide: the slab goes another way or NCCL serves, the results are right, nobody waits long, and
one line says why. That the damage is real without that is the negative control of each fault:

  drop, corrupt      SelfTest.WithoutItTheDamageIsThere (test/comm/self_test_test.cc): the engine without the self-test computes with
                     wrong data; behind the self-test (after=N) "without it the program computes with damaged data" below
  mirror             SelfTest.WithoutItTheOwnerOfAMirroredMailboxWaitsInVain: the writer's own read-back is right, the owner waits
  corrupt a low bit  SelfTest.SumsAloneDoNotSeeALowBit: the short self-test lets it pass
  freeze             SelfTest.WithoutItAFrozenDeviceIsWaitedFor: no end before the device goes on
  slow               "asked for, slow peer memory is used" below: TRANSPORT=peer leaves the comparison of rates out
  ipc-open, peer-enable, allocate, host-register, host-allocate, stream-create, no-kernel, properties
                     fail in a call that says so: without its memory or kernels there is no slab to be damaged
  peer no            the driver's own word, before anything is built; a driver whose word is wrong is `drop`
  hide, host         take facts away. Unknown paths damage nothing (one island); ranks on two hosts could share no memory at all

usage: faults_test.py SCENARIO
"""
import pathlib
import re
import subprocess
import sys
import threading
import time

from forwarding_test import LONG, QUIET, SHAPES, SOON, differing
from job import SUITE, Job, LoneRanks
from tap import run

RANKS = 4
MACHINES = pathlib.Path(__file__).resolve().parent.parent / "machines"
SHARED_GPU = {"NCCL_MULTI_RANK_GPU_ENABLE": "1"}  # NCCL looks at addresses alone
SETUP_LIMIT = 20  # seconds: the default limit, and what it takes a busy machine to notice
CASES = ("--case", "shapes,in_place,average,graph_mixed,groups,communicators,split")
WARNING = "peer memory does not work between these GPUs"


def taken(job, line, times=1):
    """What differs from: right results, every call by the slab, `line` once in the log, and the pair's retreat told by each
    rank of the first communicator only."""
    problems = job.problems()
    calls = job.slab_calls(RANKS)
    if min(calls) < 10 or min(calls) != max(calls):
        problems.append(f"calls that the slab took, by rank: {calls}")
    if job.reasons(RANKS) - {"empty", "datatype", "operation"}:
        problems.append(f"reasons: {sorted(job.reasons(RANKS))}")
    if job.log.count(WARNING) != times or line not in job.log:
        problems.append(f"{job.log.count(WARNING)} warnings:\n{job.log[:3000]}")
    retreats = job.log.count("pairs go over to host memory")
    if retreats != RANKS:
        problems.append(f"{retreats} ranks told of a retreat, not {RANKS}")
    if job.stderr or job.seconds > SOON:
        problems.append(f"{job.seconds:.0f} s, on stderr: {job.stderr[:2000]}")
    return problems


def lying_pairs(report):
    """Found before first use; that pair takes host memory, in this communicator and in all that follow."""
    for name, fault in (("dropped", "drop 1->0"), ("seen by the writer alone", "mirror 1->0"),
                        ("damaged", "corrupt 1->0 from=64"), ("damaged if long", "corrupt 1->0 from=20KiB")):
        job = Job(SUITE, "--ranks", RANKS, *CASES, faults=f"fault {fault}", settings=LONG)
        report.check(f"writes from 1 to 0 are {name}", taken(job, "rank 0 does not see what rank 1 wrote to it"))
    job = Job(SUITE, "--ranks", RANKS, "--threads", *CASES, faults="fault drop 1->0; fault corrupt 3->2 from=4KiB", settings=LONG)
    report.check("two pairs lie, ranks as threads", taken(job, "rank 2 does not see what rank 3 wrote to it", times=2))
    job = Job(SUITE, "--ranks", 3, "--case", "shapes", faults="fault drop 3->4", settings=LONG)
    quiet = [] if WARNING not in job.log and "mailboxes in GPU memory" in job.log else [job.log[:2000]]
    report.check("a communicator inside a good set does not notice", job.problems() + quiet)


def unmapped_pairs(report):
    job = Job(SUITE, "--ranks", RANKS, *CASES, faults="fault ipc-open 1->0 code=205", settings=LONG)
    report.check("one rank cannot open another's memory", taken(job, "rank 1: cannot map the slab of rank 0"))
    job = Job(SUITE, "--ranks", RANKS, "--threads", *CASES, faults="fault peer-enable 2->3 code=711", settings=LONG)
    report.check("too many peers, ranks as threads", taken(job, "rank 2: cannot map the slab of rank 3"))
    job = Job(SUITE, "--ranks", RANKS, "--threads", *CASES, faults="fault peer-enable * code=704", settings=LONG)
    direct = [] if "go over" not in job.log and "mailboxes in GPU memory" in job.log else [job.log[:2000]]
    report.check("peer access is enabled already", job.problems() + direct)
    job = Job(SUITE, "--ranks", RANKS, "--threads", *CASES, faults="fault ipc-open * code=205", settings=LONG)
    direct = [] if "go over" not in job.log and "mailboxes in GPU memory" in job.log else [job.log[:2000]]
    report.check("ranks of one process open no handles", job.problems() + direct)
    job = Job(SUITE, "--ranks", RANKS, *CASES, faults="peer 0->1 no")
    one_way = [] if "mailboxes in host memory" in job.log and "go over" not in job.log else [job.log[:2000]]
    report.check("peer access in one direction only", job.problems() + one_way)


def no_way_left(report):
    faults = "fault drop 1->0; fault host-register 0 code=712 after=1"  # the first is NCCL's own
    job = Job(SUITE, "--ranks", RANKS, "--case", "shapes,average", faults=faults, settings=LONG)
    report.check("a pair lies and host memory cannot be registered", differing(job, RANKS, "setup_failed"))
    job = Job(SUITE, "--ranks", RANKS, *SHAPES, faults="fault drop 1->0", settings=LONG, variables={"NCCL_SHM_DISABLE": "1"})
    known = [] if job.reasons(RANKS) == {"self_test_failed", "no_transport"} else [str(job.statistics)]
    report.check("a pair lies and host memory is forbidden", job.problems() + known)
    faults, forbidden = "fault ipc-open 1->0 code=205", {"NCCL_SHM_DISABLE": "1"}
    job = Job(SUITE, "--ranks", RANKS, *SHAPES, faults=faults, settings=LONG, variables=forbidden)
    told = job.log.count("does not work between these GPUs: rank 1: cannot map the slab of rank 0")
    known = [] if job.reasons(RANKS) == {"setup_failed", "no_transport"} and told == 1 else [str(job.statistics), job.log[:2000]]
    report.check("one rank cannot map a peer's and host memory is forbidden", job.problems() + known)


def out_of_memory(report):
    """CUDA has none left on one rank for what the slab takes: NCCL serves, and that rank says why, once. At every other allocation
    of a set-up: test/comm/set_up_faults_test.cc."""
    def forwarded(job, why):
        told = job.log.count(f"the slab cannot be set up: rank 1: {why}")
        known = job.log.count(f"setting up the slab failed on a rank: rank 1: {why}") >= RANKS
        silent = "does not work" not in job.log and "go over" not in job.log
        return differing(job, RANKS, "setup_failed") + ([] if told == 1 and known and silent else [job.log[:3000]])

    cases = ("--case", "shapes,average,communicators")
    no_device_memory, no_host_memory = (f"fault {call} 1 code=2 from=32MiB" for call in ("allocate", "host-register"))
    for name, ranks in (("processes", []), ("threads", ["--threads"])):
        job = Job(SUITE, "--ranks", RANKS, *cases, *ranks, faults=no_device_memory, settings=LONG)
        report.check(f"no GPU memory for a slab, ranks as {name}", forwarded(job, "cudaMalloc"))
    job = Job(SUITE, "--ranks", RANKS, *cases, faults=no_host_memory, settings={**LONG, "TRANSPORT": "host"})
    report.check("host memory that cannot be pinned", forwarded(job, "cudaHostRegister"))
    job = Job(SUITE, "--ranks", RANKS, "--case", "shapes", faults=no_device_memory, settings=LONG, variables=QUIET)
    line = [] if job.stderr.count("\n") == 1 and "out of memory" in job.stderr else [f"on stderr: {job.stderr[:2000]}"]
    report.check("whoever asks for no log sees one line", job.problems() + line)


def frozen(report):
    """Rank 2's kernels stand still from the first one on, and go on when the set-up has long been given up."""
    folder = []

    def thaw():
        while not folder:
            time.sleep(0.1)
        time.sleep(8)
        Job.thaw(folder[0])

    thawing = threading.Thread(target=thaw)
    thawing.start()
    job = Job(SUITE, "--ranks", RANKS, *SHAPES, faults="fault freeze 2", settings={"SETUP_TIMEOUT": "3000"},
              started=folder.append)
    thawing.join()
    told = {"self_test_failed", "setup_timeout", "setup_failed"} & job.reasons(RANKS)
    forwarded = [] if told and max(job.slab_calls(RANKS)) < 3 else [str(job.statistics)]
    report.check("a GPU stands still", job.problems() + forwarded + ([job.stderr[:2000]] if job.stderr else []))


def bounded(report):
    """Whatever is wrong, a set-up ends within its default time limit, one way or the other; results are right."""
    for ranks, fault in ((8, ""), (8, "fault drop *"), (4, "fault mirror 1->0"), (4, "fault corrupt * from=64"), (4, "fault slow * rate=0.05"),
                         (4, "fault ipc-open * code=205"), (4, "fault drop 1->0; fault host-register * code=712 after=1")):
        job = Job(SUITE, "--ranks", ranks, "--case", "shapes", faults=fault)
        times = [float(each) for each in re.findall(r"([0-9.]+) ms\)$", job.log, re.MULTILINE)]
        settled = [] if len(times) == ranks and max(times) < 1000 * SETUP_LIMIT else [f"set-ups took {times} ms", job.log[:2000]]
        report.check(f"set-up in time: {fault or 'nothing is wrong'}", job.problems() + settled)


def odd_machines(report):
    job = Job(SUITE, "--ranks", 8, *SHAPES, faults="fault hide *")
    flat = [] if "islands 0,1,2,3,4,5,6,7," in job.log and min(job.slab_calls(8)) > 10 else [job.log[:2000]]
    report.check("sysfs and NVML are hidden: one island", job.problems() + flat)
    job = Job(SUITE, "--ranks", RANKS, *SHAPES, faults="host 2 b; host 3 b", settings=LONG)
    report.check("ranks on two hosts", differing(job, RANKS, "other_host"))


def addresses(report):
    """GPUs are told apart by the whole address, its domain too, and instances of one GPU by their UUIDs."""
    def told(job, line, times):
        return [] if job.log.count(line) >= times else [f"not {times} times '{line}': {job.log[:2000]}"]

    for ranks in ([], ["--threads"]):
        job = Job(SUITE, "--ranks", RANKS, *ranks, *SHAPES, machine=str(MACHINES / "4-domains.machine"), settings=LONG)
        served = [] if min(job.slab_calls(RANKS)) > 10 else [str(job.statistics)]
        report.check(f"addresses differ in the domain alone {''.join(ranks)}", job.problems() + served
                     + told(job, "uses the slab, islands 0,3|1,2, mailboxes in GPU memory", RANKS))
    mig = {"machine": str(MACHINES / "4-mig.machine"), "settings": LONG}
    for name, gpus in (("NVML", "0,1"), ("their name", "2,3"), ("one and the other", "0,2")):
        job = Job(SUITE, "--ranks", 2, *SHAPES, **mig, variables={**SHARED_GPU, "CUDA_VISIBLE_DEVICES": gpus})
        report.check(f"MIG instances, by {name}", differing(job, 2, "mig") + told(job, "confidential mode: rank 0 (", 2))
    job = Job(SUITE, "--ranks", 2, *SHAPES, **mig, faults="fault hide *", variables={**SHARED_GPU, "CUDA_VISIBLE_DEVICES": "0,1"})
    served = [] if min(job.slab_calls(2)) > 10 else [str(job.statistics)]
    report.check("MIG instances that nothing tells of: two GPUs by their UUIDs, in host memory", job.problems() + served
                 + told(job, "mailboxes in host memory", 2))


def slow_pairs(report):
    """Peer memory that is far slower than host memory is left, by the first communicator for all that follow."""
    def served(job, memory, retreats):
        told = job.log.count("pairs go over to host memory")
        good = min(job.slab_calls(RANKS)) > 10 and f"mailboxes in {memory} memory" in job.log and told == retreats
        return job.problems() + ([] if good and WARNING not in job.log else [job.log[:3000]])

    # Slabs so short that the pair check is soon over all the same.
    small = {**LONG, "SLAB_MIB": "1"}

    def retreat(fault, ranks):
        """A machine that is busy enough copies to host memory no faster than the first of these rates."""
        for rate in (0.002, 0.00005):
            job = Job(SUITE, "--ranks", RANKS, *CASES, *ranks, faults=f"fault slow {fault} rate={rate}", settings=small)
            if not (problems := served(job, "host", RANKS)):
                break
        return problems

    for name, fault, ranks in (("one direction of a pair", "0->1", []), ("every pair", "*", []), ("ranks as threads", "2-3", ["--threads"])):
        report.check(f"slow peer memory: {name}", retreat(fault, ranks))
    job = Job(SUITE, "--ranks", RANKS, "--case", "shapes", faults="fault slow 0->1 rate=0.1", settings={**small, "TRANSPORT": "peer"})
    report.check("asked for, slow peer memory is used", served(job, "GPU", 0))
    job = Job(SUITE, "--ranks", RANKS, *CASES, settings=LONG)
    report.check("links that are alike: nobody retreats", served(job, "GPU", 0))
    job = Job(SUITE, "--ranks", RANKS, "--case", "shapes", faults="fault slow 0->1 rate=0.1", settings=small,
              variables={"NCCL_SHM_DISABLE": "1"})
    report.check("slow peer memory without another way", served(job, "GPU", 0))


def measured_islands(report):
    """Levels that tell nothing apart, and links of which some are far slower: the ranks form islands by what they have measured."""
    def slow(rate):
        return "; ".join(f"fault slow {pair} rate={rate}" for pair in ("0-1", "0-3", "2-1", "2-3"))

    how = {"settings": {**LONG, "SLAB_MIB": "1"}, "variables": {"NCCL_SHM_DISABLE": "1"}}
    line = "uses the slab, islands 0,2|1,3 from measured rates, mailboxes in GPU memory"

    def unformed(job):
        lines = job.log.count(line)  # in the communicators that follow, too, which measure nothing
        good = lines >= 2 * RANKS and lines == job.log.count("of 4: reduce-scatter uses the slab") and "islands_push" in job.algorithms()
        return job.problems() + ([] if good and min(job.slab_calls(RANKS)) > 10 else [f"{lines} lines", job.log[:3000]])

    def form(machine, faults, ranks):
        """A machine that is busy enough copies no faster than the first of these rates, and then there are rightly no islands."""
        for rate in (0.01, 0.004):
            job = Job(SUITE, "--ranks", RANKS, "--case", "shapes,communicators,split", *ranks, machine=machine,
                      faults=f"{slow(rate)}; {faults}", **how)
            if not (problems := unformed(job)):
                break
        return problems

    report.check("islands from measured rates: sysfs and NVML are hidden", form("8-4+4", "fault hide *", []))
    report.check("islands from measured rates: all pairs are at one level", form("4-switch", "", ["--threads"]))
    job = Job(SUITE, "--ranks", RANKS, "--case", "shapes", faults=slow(0.01), variables=how["variables"],
              settings={**how["settings"], "ISLANDS": "0,1,2,3"})
    users = [] if "islands 0,1,2,3, mailboxes" in job.log and "measured" not in job.log else [job.log[:2000]]
    report.check("islands from measured rates: the user's count more", job.problems() + users)


def apart(report):
    """One container per rank: a network namespace of its own, in which nobody else's socket exists."""
    wrapper = ["unshare", "--map-root-user", "--net"]
    if subprocess.run([*wrapper, "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        return report.skip("one rank in a network namespace of its own", "namespaces cannot be made here")
    job = LoneRanks(RANKS, settings=LONG, wrappers={1: wrapper})
    report.check("one rank in a network namespace of its own", differing(job, RANKS, "missing_rank"))
    job = LoneRanks(RANKS, settings=LONG, wrappers={rank: wrapper for rank in range(RANKS)})
    return report.check("a network namespace for each rank", differing(job, RANKS, "missing_rank"))


def compared(job, which):
    return [sum(each.get(which, {"calls": 0})["calls"] for each in job.statistics if each["nranks"] == RANKS and each["rank"] == rank)
            for rank in range(RANKS)]


def verified(report):
    """NCCL_SLAB_VERIFY: a fault that begins when the self-test is over, which has a known number of kernels where peer memory is
    asked for. The highest bit of an exponent changes."""
    calm = {"SETUP_TIMEOUT": "60000"}  # for a loaded machine
    peer = {**calm, "TRANSPORT": "peer"}
    fault = "fault corrupt 1->0 from=256 offset=3 bit=6 after=50"
    cases = ("--case", "shapes,average,premulsum,in_place,groups,two_streams,communicators", "--repeat", 5)
    job = Job(SUITE, "--ranks", RANKS, *cases, faults=fault, settings=peer)
    report.check("without it the program computes with damaged data", [] if "FAILED" in job.stdout else [job.output()])
    for threads in ([], ["--threads"]):
        name = "ranks as threads" if threads else "ranks as processes"
        job = Job(SUITE, "--ranks", RANKS, *cases, *threads, faults=fault, settings={**peer, "VERIFY": "1000000"})
        problems = job.problems() + ([] if "verification_failed" in job.reasons(RANKS) else [str(job.statistics)])
        told = job.log.count("of a verified reduce-scatter is")
        report.check(f"with it NCCL's result counts, {name}", problems + ([] if told else [job.log[-2000:]]))
        job = Job(SUITE, "--ranks", RANKS, *cases, *threads, settings={**calm, "VERIFY": "1000000"})
        calls, slab = compared(job, "verified"), job.slab_calls(RANKS)
        report.check(f"a good machine passes, {name}", job.problems() + ([] if calls == slab and min(calls) > 50 else [f"{calls} of {slab}"]))
    job = Job(SUITE, "--ranks", RANKS, "--case", "init_all", "--threads", "--limit", 60, settings={**calm, "VERIFY": "1"})
    report.check("calls that are verified and calls that are not, of all ranks, in a group of one thread", job.problems())
    job = Job(SUITE, "--ranks", RANKS, "--case", "graph_mixed,first_in_capture", settings={**calm, "VERIFY": "1000000"})
    captured = compared(job, "unverified")
    report.check("captured calls are not compared, but counted", job.problems() + ([] if min(captured) > 0 else [str(captured)]))
    job = Job(SUITE, "--ranks", RANKS, "--case", "shapes", settings={**calm, "VERIFY": "3"})
    report.check("the first three calls only", job.problems() + ([] if set(compared(job, "verified")) == {3} else [str(job.statistics)]))


SCENARIOS = {"lying pairs": lying_pairs, "unmapped pairs": unmapped_pairs, "no way left": no_way_left,
             "out of memory": out_of_memory, "frozen": frozen,
             "bounded": bounded, "odd machines": odd_machines, "addresses": addresses, "slow pairs": slow_pairs,
             "measured islands": measured_islands, "apart": apart, "verified": verified}

if __name__ == "__main__":
    sys.exit(run(SCENARIOS))
