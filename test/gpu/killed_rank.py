"""Kills one rank in the middle of a call: rank 0 of a job ends by SIGKILL while the kernels of the others wait for it.
They must learn of it, abort and get their streams back, all within seconds; then a new job on the same GPUs must work.
Usage: killed_rank.py LONE_RANK RANKS DEVICES FOLDER"""

import os
import pathlib
import re
import signal
import subprocess
import sys

CALLS_BEFORE = 2  # two checked calls each
BOUND_S = 5  # for what takes milliseconds
LIMIT_S = 40  # for a whole job


def start(program: str, ranks: int, devices: int, folder: pathlib.Path, name: str, *options: str) -> list[subprocess.Popen]:
    command = [program, "--ranks", str(ranks), "--id", str(folder / f"id.{name}"), *options]
    return [
        subprocess.Popen(
            [*command, "--rank", str(rank), "--device", str(rank % devices)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=os.environ | {"NCCL_SLAB_STATS_FILE": str(folder / f"stats.{name}.%p.json")},
        )
        for rank in range(ranks)
    ]


def outputs(processes: list[subprocess.Popen]) -> list[str]:
    """What each printed; a rank that does not end is killed, and its output says so."""
    texts = []
    for process in processes:
        try:
            texts.append(process.communicate(timeout=LIMIT_S)[0])
        except subprocess.TimeoutExpired:
            process.kill()
            texts.append(process.communicate()[0] + "did not end\n")
    return texts


def outlived(statuses: list[int], texts: list[str]) -> list[str]:
    """Complaints about the job whose rank 0 was killed."""
    found = [] if statuses[0] == -signal.SIGKILL else [f"rank 0 ended with {statuses[0]}"]
    for rank, (status, text) in enumerate(zip(statuses[1:], texts[1:]), 1):
        waits = [int(each) for each in re.findall(r"(?:asynchronous error \d+ after|aborted in) (\d+) ms", text)]
        if status != 0 or len(waits) != 2 or max(waits) > BOUND_S * 1000:
            found.append(f"rank {rank} ended with {status} after {waits} ms")
    return found


def worked(statuses: list[int]) -> list[str]:
    return [f"new job: rank {rank} ended with {status}" for rank, status in enumerate(statuses) if status != 0]


def main() -> int:
    program, ranks, devices, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), pathlib.Path(sys.argv[4])
    killed = start(program, ranks, devices, folder, "killed", "--die-at", str(CALLS_BEFORE))
    texts = outputs(killed)
    complaints = outlived([process.returncode for process in killed], texts)
    fresh = start(program, ranks, devices, folder, "fresh")
    texts += outputs(fresh)
    complaints += worked([process.returncode for process in fresh])
    print("".join(texts), *(f"FAILED {text}" for text in complaints), sep="\n")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
