"""`nccl-slab run` as it is installed: a program that knows nothing of us, and what the tool says it saw of it.

usage: run_test.py SCENARIO
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from job import SUITE
from tap import run

RANKS = 2
PLACES = {"RANKS_TOOL": "bin", "RANKS_PRELOAD": "lib", "RANKS_DROP_IN": "lib/nccl-slab", "RANKS_NCCL": "lib/emulated",
          "RANKS_CUDART": "lib/emulated"}
MACHINE = pathlib.Path(os.environ["NCCL_SLAB_MACHINE_PATH"]) / "4-switch.machine"


def install(folder):
    for variable, place in PLACES.items():
        (folder / place).mkdir(parents=True, exist_ok=True)
        shutil.copy(os.environ[variable], folder / place)
    (folder / "share/nccl-slab/machines").mkdir(parents=True)
    shutil.copy(MACHINE, folder / "share/nccl-slab/machines")


def tool(folder, *command, **variables):
    """Status, stdout and stderr of the installed tool, in an environment that leads nowhere else."""
    environment = {name: value for name, value in os.environ.items() if name not in ("LD_LIBRARY_PATH", "LD_PRELOAD")}
    done = subprocess.run([folder / "bin/nccl-slab", *map(str, command)], env={**environment, **variables}, capture_output=True,
                          text=True, timeout=100, check=False)
    return done.returncode, done.stdout, done.stderr


def told(answer, status, line):
    good = answer[0] == status and answer[2].splitlines() and answer[2].splitlines()[-1].startswith(f"nccl-slab run: {line}")
    return [] if good else [f"{answer}"[-3000:]]


def counting(report):
    suite = (SUITE, "--ranks", RANKS, "--case")
    with tempfile.TemporaryDirectory(prefix="nccl-slab-run-") as name:
        folder = pathlib.Path(name)
        install(folder)
        run_it = ("run", "-v", "--machine", "4-switch", "--")
        calls = 3 * 6 * 3 * RANKS  # types, counts and shifts of the case `shapes`
        report.check("calls that the slab took are counted", told(
            tool(folder, *run_it, *suite, "shapes"), 0,
            f"{calls} reduce-scatters seen, {calls} of them served by the slab, on communicators with {RANKS} ranks"))
        report.check("calls that NCCL took are counted apart", told(
            tool(folder, *run_it, *suite, "shapes", NCCL_SLAB_TRANSPORT="peer", NCCL_P2P_DISABLE="1", NCCL_SHM_DISABLE="1"), 0,
            f"{calls} reduce-scatters seen, 0 of them served by the slab"))
        report.check("a program that does not pass us is told so", told(tool(folder, *run_it, "true"), 0, "0 calls seen"))


SCENARIOS = {"counting": counting}

if __name__ == "__main__":
    sys.exit(run(SCENARIOS))
