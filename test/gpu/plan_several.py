"""What only a machine with several GPUs can show, in parts that each fit into ten minutes:

verdict    by default NVLink is left to NCCL; the doctor's report
failures   a rank killed in the middle of a call
host       mailboxes in host memory against NCCL without P2P: machines without P2P, a link for every GPU
peer       mailboxes in GPU memory over IPC against NCCL's own choice, and islands against flat
process    the same with all ranks in one process, by nccl-tests: as threads, and all in one thread
suites     the rank suite and nccl-tests
pytorch    FSDP2 with every number of ranks, and the other PyTorch programs

On one GPU ranks share it, so that the parts can be tried there."""

import dataclasses
import fnmatch
import json
import pathlib
from typing import Callable

import nccl_tests_times
import plan_bench
import plan_doctor
import plan_failures
import plan_nccl_tests
import plan_overlap
import plan_programs
import plan_python
from environment import Environment
from places import Places
from step import Step

SIZES = "1K,4K,16K,64K,256K,1M,4M,16M,64M,256M"
FEWER_SIZES = "4K,64K,1M,16M,256M"
GRAPH_ONLY = ("--dtype", "bf16", "--mode", "graph", "--place", "out", "--repeats", "3")
BOTH_MODES = ("--dtype", "bf16", "--mode", "graph,eager", "--place", "out", "--repeats", "3")
# Of nccl-tests with a process per rank. The others differ in nothing that several GPUs could change.
NCCL_TESTS = ("sizes *", "types slab", "graph slab", "aggregated slab", "misaligned slab", "blocking* slab", "registered slab")
IN_ONE_PROCESS = plan_nccl_tests.Test("", "reduce_scatter_perf", "-b 32K -e 512M -f 8 -n 20 -w 5 -d bfloat16")
_TRANSPORTS = ("peer", "host")


def steps(places: Places, environment: Environment, parts: list[str]) -> list[Step]:
    return [step for part in parts for step in PARTS[part](places, environment)]


def fitting(devices: int) -> tuple[int, ...]:
    """Numbers of ranks that have a GPU each; two and four on a machine with one GPU."""
    if devices == 1:
        return (2, 4)
    return tuple(sorted({count for count in (2, 4, 8) if count <= devices} | {min(devices, 8)}))


def islands(ranks: int, devices: int) -> str:
    """Two halves, such that ranks that share a GPU share an island: rank r is on GPU r modulo `devices`."""
    near = [rank for rank in range(ranks) if rank % devices < devices / 2]
    if devices == 1:
        near = list(range(ranks // 2))
    return "|".join(",".join(map(str, half)) for half in (near, [rank for rank in range(ranks) if rank not in near]))


def verdict(places: Places, environment: Environment) -> list[Step]:
    found = [step for n in fitting(environment.devices) for step in plan_programs.default_verdict(places, environment, n)]
    return found + plan_doctor.steps(places, environment)


def failures(places: Places, environment: Environment) -> list[Step]:
    return plan_failures.steps(places, environment, fitting(environment.devices))


def host(places: Places, environment: Environment) -> list[Step]:
    ranks = fitting(environment.devices)
    options = ("--transport", "host", "--ranks", ",".join(map(str, ranks)), "--sizes", SIZES, *BOTH_MODES)
    return [_measured(places, environment, "host", 30 + 60 * len(ranks), *options)]


def peer(places: Places, environment: Environment) -> list[Step]:
    ranks = fitting(environment.devices)
    options = ("--transport", "peer", "--ranks", ",".join(map(str, ranks)), "--sizes", SIZES, *BOTH_MODES)
    found = [_measured(places, environment, "peer", 30 + 30 * len(ranks), *options)]
    # Two islands of one rank each would be flat.
    count = ranks[-1] if ranks[-1] >= 4 else 8
    options = ("--transport", "peer", "--ranks", str(count), "--sizes", FEWER_SIZES, *GRAPH_ONLY)
    found.append(_measured(places, environment, f"peer n={count} flat", 60, *options, variables={"NCCL_SLAB_ALGO": "flat"}))
    forced = {"NCCL_SLAB_ISLANDS": islands(count, environment.devices)}
    options += ("--without-nccl",)
    return [*found, _measured(places, environment, f"peer n={count} islands", 60, *options, variables=forced)]


def _measured(places: Places, environment: Environment, name: str, budget_s: int, *options: str, variables=None) -> Step:
    """Ranks that have a GPU each do without MPS, as programs do."""
    step = plan_bench.Plan(places, environment, "several").step(name, budget_s, *options, variables=variables)
    ranks = step.command[step.command.index("--ranks") + 1].split(",")
    return dataclasses.replace(step, own_gpu_access=max(map(int, ranks)) <= environment.devices)


def process(places: Places, environment: Environment) -> list[Step]:
    """NCCL, and the slab over each transport and with each algorithm forced, beside it in one table."""
    ranks = environment.devices
    if ranks == 1:
        return []
    ways = {transport: {"transport": transport} for transport in _TRANSPORTS}
    ways |= {"flat": {"algo": "flat"}}
    if ranks >= 4:
        ways |= {way: {"algo": way, "islands": islands(ranks, ranks)} for way in ("islands", "islands_push")}
    found = []
    for name, option in (("threads", "-t"), ("one thread", "-g")):
        options = f"{IN_ONE_PROCESS.options} {option} {ranks}"
        test = dataclasses.replace(IN_ONE_PROCESS, name=name, options=options)
        plain, _ = plan_nccl_tests.pair(places, environment, test, [], environment.given_nccl(ranks), "")
        plain = dataclasses.replace(plain, name=f"several/process {name} plain", own_gpu_access=True)
        found.append(plain)
        for way, settings in ways.items():
            _, slab = plan_nccl_tests.pair(places, environment, test, [], environment.given_nccl(ranks), "", **settings)
            named = dataclasses.replace(slab, name=f"several/process {name} {way}", own_gpu_access=True)
            transport = settings.get("transport", "auto")
            found.append(dataclasses.replace(named, check=_timed(plain, named, transport, ranks)))
    return found


def _timed(plain: Step, slab: Step, transport: str, ranks: int):
    """Also leaves both runs' times as bench.json."""

    def check(folder: pathlib.Path, log: str) -> list[str]:
        before = (folder.parent / f"{plain.folder}.log").read_text(errors="replace")
        runs = [
            nccl_tests_times.run(before, "NCCL", transport, ranks),
            nccl_tests_times.run(log, "nccl-slab", transport, ranks),
        ]
        (folder / "bench.json").write_text(json.dumps({"machine": "", "runs": runs}))
        return ([] if runs[1]["rows"] else ["no times"]) + slab.check(folder, log)

    return check


def suites(places: Places, environment: Environment) -> list[Step]:
    ranks = fitting(environment.devices)
    own = plan_programs.own_programs(places, environment, ranks)
    found = [step for step in own if "rank_suite" in step.name and not step.name.endswith("plain")]
    for step in plan_nccl_tests.nccl_tests(places, environment, ranks[-1]):
        if any(fnmatch.fnmatch(step.name, f"nccl-tests/{pattern}") for pattern in NCCL_TESTS):
            found.append(step)
    return found


def pytorch(places: Places, environment: Environment) -> list[Step]:
    ranks = fitting(environment.devices)
    steps = plan_python.pytorch(places, environment, ranks)
    return [step for step in steps if "torch_fsdp2" in step.name or f" n={ranks[-1]} " in step.name]


def overlap(places: Places, environment: Environment) -> list[Step]:
    return plan_overlap.steps(places, environment)


PARTS: dict[str, Callable[[Places, Environment], list[Step]]] = {
    part.__name__: part for part in (verdict, failures, host, peer, process, suites, pytorch, overlap)
}
