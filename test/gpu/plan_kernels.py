"""Steps for the kernels on the GPU, once per number of ranks, algorithm and transport."""

import os
import pathlib
import shutil

import slab_statistics
from environment import Environment
from places import ROOT, Places
from step import Check, Step

TRANSPORTS = ("peer", "host")


def build() -> Step:
    return Step("build", [str(ROOT / "tools" / "build"), "cuda"], limit_s=580)


def rank_suite(places: Places, environment: Environment, ranks: tuple[int, ...]) -> list[Step]:
    """Every algorithm over every transport in all data types, below NCCL: the self-checking table must be right and
    the statistics must show that the forced algorithm did the work."""
    program = places.built("reduce_scatter_table")
    one_gpu = environment.devices == 1
    steps = []
    for count in ranks if one_gpu else [n for n in ranks if n <= environment.devices]:
        for algorithm, islands in _algorithms(count):
            for transport in TRANSPORTS:
                settings = {"algo": algorithm} | ({"islands": islands} if islands else {})
                slab = environment.preload(places.preload(), transport, **settings)
                steps.append(
                    Step(
                        f"kernels/ranks n={count} {algorithm} {transport}",
                        [str(program), "--ranks", str(count), *(["--same-device"] if one_gpu else [])],
                        limit_s=60,
                        variables=environment.given_nccl(count) | slab,
                        check=_worked(algorithm, transport),
                        missing=places.missing_for_nccl(program, "reduce_scatter_table"),
                    )
                )
    return steps


def _algorithms(ranks: int) -> list[tuple[str, str]]:
    """With the islands that they need."""
    flat = [("flat", ""), ("flat_push", ""), ("flat_small", "")]
    if ranks != 8:
        return flat
    return [*flat, *((way, "0,1,2,3|4,5,6,7") for way in ("islands", "islands_small", "islands_push")), ("nested", "(0,1|2,3)|(4,5|6,7)")]


def _worked(algorithm: str, transport: str) -> Check:
    def check(folder: pathlib.Path, _: str) -> list[str]:
        found = slab_statistics.complaints(folder, 1) + slab_statistics.mailbox_complaints(folder, transport)
        if algorithm not in slab_statistics.read(folder).algorithms:
            found.append(f"{algorithm} did not work")
        return found

    return check


def sanitizer(places: Places, environment: Environment) -> list[Step]:
    """Two rank processes below NCCL, beside MPS: a checked client must not share a server with others. (Ranks as
    threads on one GPU would wait for each other in any cudaFree of the program.)"""
    suite = places.built("rank_suite")
    below = environment.given_nccl(2) | environment.preload(places.preload())
    device = ["--same-device"] if environment.devices == 1 else []
    return [
        _checked(
            "rank suite",
            " ".join([str(suite), "--ranks", "2", *device, "--case", "shapes", "--repeat", "1"]),
            below,
            places.missing_for_nccl(suite, "rank_suite"),
        ),
    ]


def _checked(name: str, command: str, variables: dict[str, str], missing: str) -> Step:
    tool = shutil.which("compute-sanitizer", path=f"{os.environ.get('PATH', '')}:/usr/local/cuda/bin")
    options = "--tool memcheck --target-processes all --error-exitcode 9 --leak-check no"
    missing = missing or ("" if tool else "no compute-sanitizer")
    words = [str(tool), *options.split(), *command.split()]
    return Step(f"sanitizer/memcheck {name}", words, 120, variables, missing=missing, own_gpu_access=True)
