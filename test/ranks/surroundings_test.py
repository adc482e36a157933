"""What surrounds a job: a /dev/shm that is small, full, read-only or missing, a container's limit of memory, another process that
keeps a GPU busy.

usage: surroundings_test.py SCENARIO
"""
import contextlib
import subprocess
import sys
import threading
import time

from forwarding_test import LONG, differing
from job import SUITE, Job
from tap import run

RANKS = 4
CASES = ("--case", "shapes,in_place,average,graph_mixed,groups,two_streams,communicators")
IN_NAMESPACE = ("unshare", "--map-root-user", "--mount", "sh", "-ec")
# Full but for what NCCL itself takes of it, which fails without us, too.
FULL = "mount -t tmpfs -o size=64m tmpfs /dev/shm; head -c 52M /dev/zero > /dev/shm/full"
# Without /dev/shm: another /dev, of what programs need.
ABSENT = """
dev=$(mktemp -d); mount -t tmpfs tmpfs $dev
for node in null zero full random urandom; do : > $dev/$node; mount --bind /dev/$node $dev/$node; done
mount --rbind $dev /dev; test ! -e /dev/shm"""
SHARED_MEMORY = {
    "of 64 MB": "mount -t tmpfs -o size=64m tmpfs /dev/shm",
    "with less room than a slab takes": FULL,
    "read-only": "mount -t tmpfs -o ro tmpfs /dev/shm; ! touch /dev/shm/file 2>/dev/null",
    "missing": ABSENT,
}


def served(job, memory):
    calls = job.slab_calls(RANKS)
    fine = min(calls) == max(calls) > 10 and f"mailboxes in {memory} memory" in job.log and "go over" not in job.log
    return job.problems() + ([] if fine and not job.stderr else [f"{calls}\n{job.stderr[:1000]}\n{job.log[:2000]}"])


def shared_memory(report):
    """The slab has none of its memory there."""
    for name, commands in SHARED_MEMORY.items():
        if subprocess.run([*IN_NAMESPACE, commands], stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode:
            report.skip(f"/dev/shm {name}", "it cannot be mounted here")
            continue
        for transport, memory in (("host", "host"), ("peer", "GPU")):
            job = Job(*IN_NAMESPACE, commands + '\nexec "$@"', "sh", SUITE, "--ranks", RANKS, *CASES,
                      settings={**LONG, "TRANSPORT": transport})
            report.check(f"/dev/shm {name}, mailboxes in {memory} memory", served(job, memory))


def container(limit):
    """Commands after which a process finds itself in a control group, of either version, of which that many MiB are left. Nobody
    enforces it, so that what a job would take shows nothing but what it decides."""
    return "; ".join(["mount -t tmpfs tmpfs /sys/fs/cgroup", "cd /sys/fs/cgroup", "mkdir memory",
                      f"echo {limit << 20} | tee memory.max memory/memory.limit_in_bytes",
                      "echo 0 | tee memory.current memory/memory.usage_in_bytes"])


def memory_limit(report):
    """Beyond it the system ends processes. Where the slabs would come near it, NCCL serves; in GPU memory they do not count."""
    if subprocess.run([*IN_NAMESPACE, container(1)], stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode:
        return report.skip("a container's limit of memory", "control groups cannot be mounted here")

    def job(limit, transport):
        return Job(*IN_NAMESPACE, f'({container(limit)}) > /dev/null\nexec "$@"', "sh", SUITE, "--ranks", RANKS, *CASES,
                   settings={**LONG, "TRANSPORT": transport})

    small = job(100, "host")
    why = [] if "MiB of host memory are left here" in small.log else [small.log[:2000]]
    report.check("a container that is too small for slabs in host memory", differing(small, RANKS, "setup_failed") + why)
    report.check("the same, slabs in GPU memory", served(job(100, "peer"), "GPU"))
    return report.check("a container that is large enough", served(job(1000, "host"), "host"))


def busy(report):
    """Another process has GPU 1 for itself most of the time, as one without MPS in turn with ours: everything goes on, and nobody
    takes that for a fault, although waits are bounded."""
    for name, more in (("processes", []), ("threads", ["--threads"])):
        folder, turns, over = [], [], threading.Event()

        def occupy(folder=folder, turns=turns, over=over):
            while not over.wait(0.05):
                if not folder or not (folder[0] / "links").exists():
                    continue
                with contextlib.suppress(FileNotFoundError):  # the job has ended
                    Job.freeze(folder[0], 1)
                    time.sleep(0.25)
                    Job.thaw(folder[0])
                    turns.append(1)

        occupying = threading.Thread(target=occupy)
        occupying.start()
        job = Job(SUITE, "--ranks", RANKS, *CASES, *more, settings={**LONG, "TIMEOUT": "20000"}, started=folder.append)
        over.set()
        occupying.join()
        report.check(f"a GPU that somebody else keeps busy, ranks as {name}",
                     served(job, "GPU") + ([] if len(turns) > 5 else [f"it had only {len(turns)} turns"]))


SCENARIOS = {"shared memory": shared_memory, "memory limit": memory_limit, "busy": busy}

if __name__ == "__main__":
    sys.exit(run(SCENARIOS))
