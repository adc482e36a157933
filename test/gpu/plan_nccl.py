"""Steps that run NCCL programs on the libnccl given with --nccl, plain and then with the slab: this project's
own test programs, which check themselves, and nccl-tests, one process per rank through MPI since ranks may
share a GPU."""

import pathlib
import re

import slab_statistics
from environment import Environment
from places import Places
from step import Check, Step

OWN_PROGRAMS = ("rank_suite", "reduce_scatter_table")

# Name of the step, the test, its options. -d and -o all: forwarding of what the slab does not reduce.
NCCL_TESTS = (
    ("sizes", "reduce_scatter_perf", "-b 8 -e 16M -f 8 -n 5 -w 2 -d bfloat16"),
    ("types", "reduce_scatter_perf", "-b 64 -e 1M -f 32 -n 3 -w 1 -d all -o all"),
    ("average", "reduce_scatter_perf", "-b 64 -e 1M -f 32 -n 3 -w 1 -d half -o avg"),
    ("graph", "reduce_scatter_perf", "-b 1K -e 4M -f 8 -n 4 -w 1 -d float -G 3"),
    ("aggregated", "reduce_scatter_perf", "-b 1K -e 1M -f 8 -n 4 -w 1 -d bfloat16 -m 5"),
    ("misaligned", "reduce_scatter_perf", "-b 1K -e 1M -f 8 -n 4 -w 1 -d half -u 1"),
    ("blocking", "reduce_scatter_perf", "-b 1K -e 1M -f 8 -n 4 -w 1 -d float -z 1"),
    ("null stream", "reduce_scatter_perf", "-b 1K -e 1M -f 8 -n 4 -w 1 -d float -y 1"),
    ("all-reduce", "all_reduce_perf", "-b 1K -e 1M -f 8 -n 3 -w 1 -d float"),
    ("all-gather", "all_gather_perf", "-b 1K -e 1M -f 8 -n 3 -w 1"),
    ("send-receive", "sendrecv_perf", "-b 1K -e 1M -f 8 -n 3 -w 1"),
    ("broadcast", "broadcast_perf", "-b 1K -e 1M -f 8 -n 3 -w 1"),
)
_FORWARDED_BY_TYPES = frozenset({"datatype", "operation"})


def own_programs(places: Places, environment: Environment, ranks: tuple[int, ...]) -> list[Step]:
    """Ranks all on one GPU, or one on each."""
    steps = []
    for name in OWN_PROGRAMS:
        program = places.built(name)
        missing = _missing(places, program, name)
        for count in ranks:
            if environment.devices > 1 and count > environment.devices:
                continue
            plain = environment.given_nccl(count)
            command = [str(program), "--ranks", str(count)] + (
                ["--same-device"] if environment.devices == 1 else []
            )
            steps.append(Step(f"programs/{name} n={count} plain", command, 90, plain, missing=missing))
            for transport in ("peer", "host"):
                slab = plain | environment.preload(places.preload(), transport)
                steps.append(
                    Step(
                        f"programs/{name} n={count} slab {transport}",
                        command,
                        90,
                        slab,
                        check=lambda folder, _: slab_statistics.complaints(folder, 1),
                        missing=missing,
                    )
                )
    return steps


def default_verdict(places: Places, environment: Environment) -> list[Step]:
    """Without NCCL_SLAB_FORCE the slab keeps out of the way of NVLink, and of ranks that share a GPU."""
    program = places.built("reduce_scatter_bench")
    reason = "same_gpu" if environment.devices == 1 else "nvlink"
    variables = environment.given_nccl(2) | environment.preload(places.preload()) | {"NCCL_SLAB_FORCE": "0"}
    command = [
        str(program),
        "--ranks",
        "2",
        "--devices",
        str(environment.devices),
        "--sizes",
        "64K",
        "--repeats",
        "1",
    ]
    return [
        Step(
            f"programs/default forwards {reason}",
            command,
            60,
            variables,
            check=lambda folder, _: slab_statistics.forwarded_only(folder, reason),
            missing=_missing(places, program, "reduce_scatter_bench"),
        )
    ]


def nccl_tests(places: Places, environment: Environment, ranks: int) -> list[Step]:
    steps = []
    for name, test, options in NCCL_TESTS:
        program, mpirun = places.nccl_test(test), places.mpirun()
        missing = _missing(places, program, test) or ("" if mpirun else "no mpirun")
        plain = environment.given_nccl(ranks) | _mpi_variables(environment)
        command = [
            str(mpirun),
            "-np",
            str(ranks),
            "--oversubscribe",
            "--mca",
            "btl",
            "self,vader",
            "--mca",
            "pml",
            "ob1",
            str(program),
            *options.split(),
        ]
        before = Step(f"nccl-tests/{name} plain", command, 60, plain, check=_no_wrong, missing=missing)
        slab = plain | environment.preload(places.preload())
        steps += [
            before,
            Step(f"nccl-tests/{name} slab", command, 60, slab, check=_checks(test, options), missing=missing),
        ]
    return steps


def _mpi_variables(environment: Environment) -> dict[str, str]:
    variables = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return variables | ({"NCCL_TESTS_DEVICE": "0"} if environment.devices == 1 else {})


def _missing(places: Places, program: pathlib.Path | None, name: str) -> str:
    if places.real_nccl() is None:
        return "no libnccl given (--nccl DIR)"
    if program is None:
        return f"{name} is not built"
    return "" if places.preload() else "libnccl-slab.so is not built"


def _no_wrong(_: pathlib.Path, log: str) -> list[str]:
    """nccl-tests ends with 0 whatever its verdict in some versions; its own line decides."""
    found = re.search(r"Out of bounds values : (\d+)", log)
    if found is None:
        return ["nccl-tests gave no verdict"]
    return [] if found[1] == "0" else [f"{found[1]} values out of bounds"]


def _checks(test: str, options: str) -> Check:
    """All calls of reduce_scatter_perf must be the slab's, unless the step is about other types and operations."""

    def check(folder: pathlib.Path, log: str) -> list[str]:
        if test != "reduce_scatter_perf":
            return _no_wrong(folder, log)
        allowed = _FORWARDED_BY_TYPES if "all" in options.split() else frozenset()
        return _no_wrong(folder, log) + slab_statistics.complaints(folder, 1, allowed)

    return check
