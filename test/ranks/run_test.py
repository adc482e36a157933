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


# Values that are no values of their setting, and what is said of them.
WRONG = {"ENABLE": ("maybe", "is not 0 or 1"), "ALGO": ("fast", "is not one of auto|"), "TRANSPORT": ("Peer", "is not one of"),
         "ISLANDS": ("0-3|4-7", "is not a list of islands"), "OPS": ("sum, avg", "is not a list of sum,avg,premulsum"),
         "DEBUG": ("info", "is not one of"),
         "STATS_FILE": ("/nonexistent/stats", "cannot write /nonexistent/stats"), "SLAB_MIB": ("0", "from 1 to 256 (MiB)"),
         "SETUP_TIMEOUT": ("18446744073709551615", "is not a whole number"), "VERIFY": ("-1", "is not a whole number"),
         "TIMEOUT": ("18446744073709551615", "is not a whole number"), "TUNE_FILE": ("/nonexistent/table", "is not used: cannot read"),
         "TOPO_FILE": ("/nonexistent/topology", "is not used: cannot read")}


def complaints(answer, setting):
    """Every process that made a communicator complains once, of this setting alone, and all else is as without it."""
    status, stdout, stderr = answer
    lines = stderr.splitlines()
    good = status == 0 and "FAILED" not in stdout and len(lines) == RANKS and all(WRONG[setting][1] in line for line in lines)
    return [] if good else [f"{answer}"[:3000]]


def wrong_settings(report):
    """Preload and drop-in are both in the process, and it makes several communicators."""
    with tempfile.TemporaryDirectory(prefix="nccl-slab-run-") as name:
        folder = pathlib.Path(name)
        install(folder)
        run_it = ("run", "--machine", "4-switch", "--", SUITE, "--ranks", RANKS, "--case", "shapes,groups")
        for setting, (value, _) in WRONG.items():
            report.check(f"NCCL_SLAB_{setting}={value}", complaints(tool(folder, *run_it, **{f"NCCL_SLAB_{setting}": value}), setting))
        log = tool(folder, *run_it, NCCL_SLAB_DEBUG="INFO", NCCL_SLAB_DEBUG_FILE="/nonexistent/log")[2]
        once = log.count("cannot write /nonexistent/log") == RANKS and "uses the slab" in log
        report.check("a log that cannot be written is on stderr", [] if once else [log[:3000]])


SCENARIOS = {"counting": counting, "wrong settings": wrong_settings}

if __name__ == "__main__":
    sys.exit(run(SCENARIOS))
