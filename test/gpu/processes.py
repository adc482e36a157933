"""Ends whatever a step left behind. A step's grandchildren may sit in process groups of their own (mpirun does that), so
they are found through their ancestry: orphans come to us, the subreaper, and stay our descendants."""

import ctypes
import os
import pathlib
import signal
import time

_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Must be called once before the first step, else orphans of a step belong to init and are out of reach."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _living() -> dict[int, tuple[int, str]]:
    """Parent and name of every process that has not ended."""
    living = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            head, _, tail = (entry / "stat").read_text().rpartition(")")
        except OSError:
            continue  # gone meanwhile
        state, parent = tail.split()[:2]
        if state != "Z":
            living[int(entry.name)] = (int(parent), head.partition("(")[2])
    return living


def descendants(spared: str = "") -> set[int]:
    """Living processes below this one, except those whose name begins with `spared`."""
    living = _living()
    found = {os.getpid()}
    while more := {pid for pid, (parent, _) in living.items() if parent in found} - found:
        found |= more
    found.discard(os.getpid())
    return {pid for pid in found if not (spared and living[pid][1].startswith(spared))}


def end_all(spared: str = "") -> int:
    """Kills our descendants until none is left, for at most five seconds; returns how many there were."""
    ended: set[int] = set()
    for _ in range(50):
        targets = descendants(spared)
        if not targets:
            break
        for pid in targets:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        ended |= targets
        time.sleep(0.1)
    _reap()
    return len(ended)


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
    except ChildProcessError:
        pass
