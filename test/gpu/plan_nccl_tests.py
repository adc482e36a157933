"""Steps that run nccl-tests, plain and then with the slab. One process per rank through MPI, since ranks may share a
GPU; with several GPUs also several ranks per process, which the tests then start as threads or in one thread.
"""

import dataclasses
import pathlib
import re

import slab_statistics
from environment import Environment
from places import Places
from step import Step

_MPI = "--oversubscribe --mca btl self,vader --mca pml ob1"
# What the slab leaves to NCCL, in a test of all data types and operations.
_OTHERS = frozenset({"datatype", "operation"})
_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


@dataclasses.dataclass(frozen=True)
class Test:
    name: str
    program: str
    options: str
    forwarded: frozenset[str] = frozenset()  # reasons that are right besides the usual ones


TESTS = (
    Test("sizes", "reduce_scatter_perf", "-b 8 -e 16M -f 8 -n 5 -w 2 -d bfloat16"),
    Test("types", "reduce_scatter_perf", "-b 64 -e 1M -f 32 -n 3 -w 1 -d all -o all", _OTHERS),
    Test("average", "reduce_scatter_perf", "-b 64 -e 1M -f 32 -n 3 -w 1 -d half -o avg"),
    Test("scaled", "reduce_scatter_perf", "-b 64 -e 1M -f 32 -n 3 -w 1 -d float -o mulsum"),
    Test("graph", "reduce_scatter_perf", "-b 1K -e 4M -f 8 -n 4 -w 1 -d float -G 3"),
    Test("aggregated", "reduce_scatter_perf", "-b 1K -e 1M -f 8 -n 4 -w 1 -d bfloat16 -m 5"),
    Test("misaligned", "reduce_scatter_perf", "-b 1K -e 1M -f 8 -n 4 -w 1 -d half -u 1"),
    Test("blocking", "reduce_scatter_perf", "-b 1K -e 1M -f 8 -n 4 -w 1 -d float -z 1"),
    Test("blocking in the end", "reduce_scatter_perf", "-b 1K -e 1M -f 8 -n 4 -w 1 -d float -z 3"),
    Test("registered", "reduce_scatter_perf", "-b 1K -e 1M -f 8 -n 4 -w 1 -d bfloat16 -R 1"),
    Test("null stream", "reduce_scatter_perf", "-b 1K -e 1M -f 8 -n 4 -w 1 -d float -y 1"),
    Test("all-reduce", "all_reduce_perf", "-b 1K -e 1M -f 8 -n 3 -w 1 -d float"),
    Test("all-gather", "all_gather_perf", "-b 1K -e 1M -f 8 -n 3 -w 1"),
    Test("reduce", "reduce_perf", "-b 1K -e 1M -f 8 -n 3 -w 1 -d float"),
    Test("all-to-all", "alltoall_perf", "-b 1K -e 1M -f 8 -n 3 -w 1"),
    Test("gather", "gather_perf", "-b 1K -e 1M -f 8 -n 3 -w 1"),
    Test("scatter", "scatter_perf", "-b 1K -e 1M -f 8 -n 3 -w 1"),
    Test("send-receive", "sendrecv_perf", "-b 1K -e 1M -f 8 -n 3 -w 1"),
    Test("broadcast", "broadcast_perf", "-b 1K -e 1M -f 8 -n 3 -w 1"),
)
PER_PROCESS = Test("", "reduce_scatter_perf", "-b 1K -e 16M -f 8 -n 5 -w 1 -d bfloat16")


def nccl_tests(places: Places, environment: Environment, ranks: int) -> list[Step]:
    mpirun = places.mpirun()
    one_device = {"NCCL_TESTS_DEVICE": "0"} if environment.devices == 1 else {}
    plain = environment.given_nccl(ranks) | _ROOT | one_device
    prefix = [str(mpirun), "-np", str(ranks), *_MPI.split()]
    steps = []
    for test in TESTS:
        steps += pair(places, environment, test, prefix, plain, "" if mpirun else "no mpirun")
    steps.append(started_by_the_tool(places, steps[1], len(prefix)))
    return steps + several_ranks_per_process(places, environment)


def started_by_the_tool(places: Places, slab: Step, words: int) -> Step:
    """The same again with `nccl-slab run` between mpirun, which is so many words, and the program."""
    tool = places.tool()
    return dataclasses.replace(
        slab,
        name="nccl-tests/by nccl-slab run slab",
        command=[*slab.command[:words], str(tool), "run", "--", *slab.command[words:]],
        variables={name: value for name, value in slab.variables.items() if name != "LD_PRELOAD"},
        missing=slab.missing or ("" if tool else "bin/nccl-slab is not installed"),
    )


def several_ranks_per_process(places: Places, environment: Environment) -> list[Step]:
    steps = []
    if environment.devices > 1:
        for name, option in (("one thread", "-g"), ("threads", "-t")):
            options = f"{PER_PROCESS.options} {option} {environment.devices}"
            test = dataclasses.replace(PER_PROCESS, name=name, options=options)
            steps += pair(places, environment, test, [], environment.given_nccl(environment.devices), "")
    return steps


def pair(
    places: Places,
    environment: Environment,
    test: Test,
    prefix: list[str],
    plain: dict[str, str],
    missing: str,
    **settings: str,
) -> list[Step]:
    """`settings`: of the slab, and the transport."""
    program = places.nccl_test(test.program)
    missing = places.missing_for_nccl(program, test.program) or missing
    command = [*prefix, str(program), *test.options.split()]
    slab = plain | environment.preload(places.preload(), **settings)

    def check(folder: pathlib.Path, log: str) -> list[str]:
        return _no_wrong(folder, log) + _taken(folder, test)

    before = Step(f"nccl-tests/{test.name} plain", command, 60, plain, _no_wrong, missing)
    return [before, Step(f"nccl-tests/{test.name} slab", command, 60, slab, check, missing)]


def _no_wrong(_: pathlib.Path, log: str) -> list[str]:
    """Some versions end with 0 whatever they found; their own line decides."""
    found = re.search(r"Out of bounds values : (\d+)", log)
    if found is None:
        return ["nccl-tests gave no verdict"]
    return [] if found[1] == "0" else [f"{found[1]} values out of bounds"]


def _taken(folder: pathlib.Path, test: Test) -> list[str]:
    if test.program != "reduce_scatter_perf":
        return []
    return slab_statistics.complaints(folder, 1, test.forwarded)
