"""Steps in which a rank dies in the middle of a call (killed_rank.py)."""

import pathlib
import sys

import slab_statistics
from environment import Environment
from places import Places
from step import Check, Step

HERE = pathlib.Path(__file__).resolve().parent
TRANSPORTS = ("peer", "host")
# Of the survivors, before the death (two calls, each twice), and of all ranks in the new job after it (three).
_CALLS_KILLED, _CALLS_FRESH = 4, 6


def steps(places: Places, environment: Environment, ranks: tuple[int, ...]) -> list[Step]:
    program = places.built("lone_rank")
    missing = places.missing_for_nccl(program, "lone_rank")
    found = []
    for count in ranks:
        command = [sys.executable, str(HERE / "killed_rank.py"), str(program), str(count), str(environment.devices), "{dir}"]
        for transport in TRANSPORTS:
            variables = environment.given_nccl(count) | environment.preload(places.preload(), transport)
            check = _served(count, transport)
            name, alone = f"failures/killed n={count} {transport}", count <= environment.devices
            found.append(Step(name, command, 90, variables, check, missing, own_gpu_access=alone))
    return found


def _served(ranks: int, transport: str) -> Check:
    """Else the slab was not there when the rank died."""

    def check(folder: pathlib.Path, _: str) -> list[str]:
        least = (ranks - 1) * _CALLS_KILLED + ranks * _CALLS_FRESH
        return slab_statistics.complaints(folder, least) + slab_statistics.mailbox_complaints(folder, transport)

    return check
