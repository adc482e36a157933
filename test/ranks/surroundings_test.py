"""What surrounds a job: a /dev/shm that is small, full, read-only or missing, another process that keeps a GPU busy.

usage: surroundings_test.py SCENARIO
"""
import contextlib
import subprocess
import sys
import threading
import time

from forwarding_test import LONG
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


SCENARIOS = {"shared memory": shared_memory, "busy": busy}

if __name__ == "__main__":
    sys.exit(run(SCENARIOS))
