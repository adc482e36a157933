"""Steps without any NCCL: the kernels on the GPU, once per number of ranks, algorithm and transport."""

import pathlib

from environment import Environment
from places import ROOT, Places
from step import Step

ALGORITHMS = ("flat", "islands")
TRANSPORTS = ("peer", "host")


def build() -> Step:
    return Step("build", [str(ROOT / "tools" / "build"), "cuda"], limit_s=580)


def unit_tests(places: Places) -> list[Step]:
    """GoogleTest programs of the cuda build that need a GPU and no arguments."""
    names = ("gpu_kernels",)
    return [
        Step(f"kernels/{name}", [str(found)], limit_s=60) for name in names if (found := places.built(name))
    ]


def rank_suite(places: Places, environment: Environment, ranks: tuple[int, ...]) -> list[Step]:
    program = places.built("gpu_rank_suite")
    steps = []
    for count in ranks:
        for algorithm in ALGORITHMS:
            for transport in TRANSPORTS:
                command = [str(program), "--ranks", str(count), "--algo", algorithm, "--transport", transport]
                steps.append(
                    Step(
                        f"kernels/ranks n={count} {algorithm} {transport}",
                        command,
                        limit_s=60,
                        variables=environment.nccl(),
                        missing="" if program else "gpu_rank_suite is not built",
                    )
                )
    return steps


def sanitizer(places: Places) -> list[Step]:
    """Ranks as threads of one process. The tool runs beside MPS: a checked client must not share a server
    with others."""
    program = places.built("gpu_rank_suite")
    tool = "compute-sanitizer"
    command = [
        tool,
        "--tool",
        "memcheck",
        "--error-exitcode",
        "9",
        "--leak-check",
        "no",
        str(program),
        "--ranks",
        "2",
        "--threads",
        "--small",
    ]
    missing = "" if program else "gpu_rank_suite is not built"
    if not missing and not _on_path(tool):
        missing = f"{tool} is not on the PATH"
    return [Step("sanitizer/memcheck n=2", command, limit_s=120, missing=missing, own_gpu_access=True)]


def _on_path(tool: str) -> bool:
    import shutil

    return shutil.which(tool) is not None or pathlib.Path(f"/usr/local/cuda/bin/{tool}").is_file()
