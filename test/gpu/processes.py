"""Ends whatever a step left behind. A step's grandchildren may sit in process groups of their own (mpirun
does that), so they are found through their ancestry: orphans come to us, the subreaper, and stay our
descendants."""

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


def end_all(kept: set[int], spared: str = "") -> int:
    """Kills our descendants but `kept` until none is left, for at most five seconds; returns how many
    there were."""
    ended: set[int] = set()
    for _ in range(50):
        targets = descendants(spared) - kept
        if not targets:
            break
        for pid in targets:
            _kill(pid)
        ended |= targets
        time.sleep(0.1)
    _reap(ended)
    return len(ended)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _reap(pids: set[int]) -> None:
    """Of those only that became our children; whoever started others waits for them."""
    for pid in pids:
        try:
            os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            pass
