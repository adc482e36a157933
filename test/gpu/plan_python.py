"""Steps that run Python programs, each plain and then with the slab, and compare the two."""

import dataclasses
import importlib.util
import pathlib
import sys

from comparison import compare
from environment import Environment
from places import Places
from step import Step

HERE = pathlib.Path(__file__).resolve().parent
PYTORCH_PROGRAMS = ("torch_reduce_scatter", "torch_fsdp2", "torch_buckets", "torch_partition_loop")


# What PyTorch's caching allocator then hands out is mapped through the driver piece by piece, and cannot be exported.
EXPANDABLE = "expandable_segments:True"


def launch(program: str, ranks: int, separate_hosts: bool, first: str = "") -> list[str]:
    hosts = ["--separate-hosts"] if separate_hosts else []
    return [
        sys.executable,
        str(HERE / "launch.py"),
        str(ranks),
        *hosts,
        *(["--first", first] if first else []),
        "--",
        sys.executable,
        str(HERE / f"{program}.py"),
        "{dir}",
    ]


def pair(
    name: str, command: list[str], ranks: int, plain: dict[str, str], slab: dict[str, str], missing: str
) -> list[Step]:
    before = Step(f"{name} n={ranks} plain", command, limit_s=100, variables=plain, missing=missing)
    return [before, beside(before, f"{name} n={ranks} slab", command, ranks, plain | slab)]


def beside(before: Step, name: str, command: list[str], ranks: int, variables: dict[str, str]) -> Step:
    """Must have the results of the plain step `before`, and the slab every call."""

    def check(folder: pathlib.Path, _: str) -> list[str]:
        return compare(folder.parent / before.folder, folder, ranks)

    return Step(name, command, limit_s=100, variables=variables, check=check, missing=before.missing)


def missing_module(module: str) -> str:
    return "" if importlib.util.find_spec(module) else f"no {module} in {sys.executable}"


def pytorch(places: Places, environment: Environment, ranks: tuple[int, ...]) -> list[Step]:
    """PyTorch with the NCCL of its wheel, whatever its version: ranks that share a GPU claim separate hosts."""
    missing = missing_module("torch") or ("" if places.preload() else "libnccl-slab.so is not built")
    steps = []
    for program in PYTORCH_PROGRAMS:
        for count in ranks:
            command = launch(program, count, separate_hosts=count > environment.devices)
            steps += pair(
                f"pytorch/{program}",
                command,
                count,
                environment.nccl(),
                environment.preload(places.preload()),
                missing,
            )
    return steps + expandable(places, environment, steps[0], ranks[0]) + [by_torchrun(places, environment, steps[0], ranks[0])]


def by_torchrun(places: Places, environment: Environment, before: Step, ranks: int) -> Step:
    """The first program again, its ranks started by torchrun, and that by `nccl-slab run`."""
    tool, program = places.tool(), PYTORCH_PROGRAMS[0]
    hosts = "NCCL_HOSTID=gpu-test-$RANK " if ranks > environment.devices else ""
    rank = f"{hosts}exec {sys.executable} {HERE / program}.py $0"
    launcher = ["-m", "torch.distributed.run", "--nproc-per-node", str(ranks), "--master-addr", "127.0.0.1"]
    command = [str(tool), "run", "--", sys.executable, *launcher, "--no-python", "sh", "-c", rank, "{dir}"]
    slab = before.variables | environment.preload(places.preload()) | {"GLOO_SOCKET_IFNAME": "lo"}
    del slab["LD_PRELOAD"]
    step = beside(before, f"pytorch/{program} by torchrun n={ranks} slab", command, ranks, slab)
    return step if tool else dataclasses.replace(step, missing=step.missing or "bin/nccl-slab is not installed")


def expandable(places: Places, environment: Environment, before: Step, ranks: int) -> list[Step]:
    """The first program again with its buffers in expandable segments: on all ranks, and on rank 0 alone, of which the
    others cannot know."""
    slab, hosts = before.variables | environment.preload(places.preload()), ranks > environment.devices
    name, variable = f"pytorch/{PYTORCH_PROGRAMS[0]} expandable segments", "PYTORCH_CUDA_ALLOC_CONF"
    on_all, on_one = (launch(PYTORCH_PROGRAMS[0], ranks, hosts, first) for first in ("", f"{variable}={EXPANDABLE}"))
    return [
        beside(before, f"{name} n={ranks} slab", on_all, ranks, slab | {variable: EXPANDABLE}),
        beside(before, f"{name} on one rank n={ranks} slab", on_one, ranks, slab),
    ]


def loaders(places: Places, environment: Environment) -> list[Step]:
    """Programs that open NCCL themselves and look its functions up in the handle: they need our libnccl.so.2."""
    ranks, real, drop_in = 4, places.real_nccl(), places.drop_in()
    missing = (
        "no libnccl given (--nccl DIR)"
        if real is None
        else "" if drop_in else "our libnccl.so.2 is not built"
    )
    plain = environment.given_nccl(ranks) | {"VLLM_NCCL_SO_PATH": str(real), "LD_PRELOAD": str(real)}
    slab = environment.preload(drop_in, nccl_lib=str(real)) | {"VLLM_NCCL_SO_PATH": str(drop_in)}
    steps = []
    for program, module in (("ctypes_loader", "ctypes"), ("cupy_nccl", "cupy"), ("jax_psum_scatter", "jax")):
        command = launch(program, ranks, separate_hosts=False)
        steps += pair(f"loaders/{program}", command, ranks, plain, slab, missing_module(module) or missing)
    return steps
