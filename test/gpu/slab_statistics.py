"""Reads what the slab says it did (NCCL_SLAB_STATS_FILE, one JSON list of communicators per process) and
complains unless it took every call that it could. A test that only compares results would also pass if
everything had been forwarded."""

import dataclasses
import json
import pathlib

# Reasons that are right for a call whatever the machine: there is nothing to reduce, or nothing that we reduce.
ALWAYS_FORWARDED = frozenset({"empty", "one_rank"})


@dataclasses.dataclass
class Taken:
    """Reduce-scatter calls of one step, over all its processes."""

    slab_calls: int = 0
    slab_bytes: int = 0
    forwarded: dict[str, int] = dataclasses.field(default_factory=dict)
    processes: int = 0
    algorithms: set[str] = dataclasses.field(default_factory=set)


def read(folder: pathlib.Path) -> Taken:
    taken = Taken()
    for path in sorted(folder.glob("stats.*.json")):
        communicators = json.loads(path.read_text())
        taken.processes += bool(communicators)
        for communicator in communicators:
            slab = communicator.get("slab", {})
            taken.algorithms |= set(communicator.get("algorithms", {}))
            taken.slab_calls += slab.get("calls", 0)
            taken.slab_bytes += slab.get("bytes", 0)
            for reason, forwarded in communicator.get("forward", {}).items():
                if forwarded.get("calls", 0):
                    taken.forwarded[reason] = taken.forwarded.get(reason, 0) + forwarded["calls"]
    return taken


def complaints(folder: pathlib.Path, least_calls: int, allowed: frozenset[str] = frozenset()) -> list[str]:
    """`allowed`: further reasons that are right for what the step does, e.g. datatype for a test of all
    data types."""
    taken = read(folder)
    found = []
    wrong = {
        reason: calls for reason, calls in taken.forwarded.items() if reason not in ALWAYS_FORWARDED | allowed
    }
    if wrong:
        found.append(f"forwarded {wrong}")
    if taken.slab_calls < least_calls:
        found.append(f"the slab took {taken.slab_calls} calls of at least {least_calls}")
    return found


def forwarded_only(folder: pathlib.Path, reason: str) -> list[str]:
    """For runs in which the slab must keep out of the way: every call forwarded, each for `reason`."""
    taken = read(folder)
    if taken.slab_calls == 0 and set(taken.forwarded) - ALWAYS_FORWARDED == {reason}:
        return []
    return [f"expected only {reason}, got {taken.slab_calls} slab calls and {taken.forwarded}"]


def mailbox_complaints(folder: pathlib.Path, transport: str) -> list[str]:
    """Whether the slab used the transport that was asked for, by its own INFO lines (NCCL_SLAB_DEBUG_FILE)."""
    wanted = {"peer": "mailboxes in GPU memory", "host": "mailboxes in host memory"}[transport]
    lines = [line for path in folder.glob("slab.*.log") for line in path.read_text().splitlines()]
    others = [line for line in lines if "mailboxes in" in line and wanted not in line]
    if others or not any(wanted in line for line in lines):
        return [f"no {wanted}" + (f": {others[0]}" if others else "")]
    return []
