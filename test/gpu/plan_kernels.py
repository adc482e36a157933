"""Steps without any NCCL: the kernels on the GPU, once per number of ranks, algorithm and transport."""

import os
import shutil

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


def sanitizer(places: Places, environment: Environment) -> list[Step]:
    """Ranks as threads of one process, on the engine alone and below NCCL. The tool runs beside MPS: a checked
    client must not share a server with others."""
    alone, suite = places.built("gpu_rank_suite"), places.built("rank_suite")
    below = environment.given_nccl(2) | environment.preload(places.preload())
    return [
        _checked(
            "kernels",
            f"{alone} --ranks 2 --threads --small",
            {},
            "" if alone else "gpu_rank_suite is not built",
        ),
        _checked(
            "rank suite",
            f"{suite} --ranks 2 --threads --same-device --case shapes,in_place --repeat 2",
            below,
            places.missing_for_nccl(suite, "rank_suite"),
        ),
    ]


def _checked(name: str, command: str, variables: dict[str, str], missing: str) -> Step:
    tool = shutil.which("compute-sanitizer", path=f"{os.environ.get('PATH', '')}:/usr/local/cuda/bin")
    options = "--tool memcheck --error-exitcode 9 --leak-check no"
    missing = missing or ("" if tool else "no compute-sanitizer")
    words = [str(tool), *options.split(), *command.split()]
    return Step(f"sanitizer/memcheck {name}", words, 120, variables, missing=missing, own_gpu_access=True)
