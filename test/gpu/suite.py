"""The GPU suite (tools/gpu-test): plans the steps for this machine, runs them one after another and reports.
Every step has a hard limit, and none stops the others. The last line is 'N passed, N failed, N skipped'."""

import argparse
import fnmatch
import pathlib
import shutil
import subprocess
import sys
import time

import plan_bench
import plan_doctor
import plan_failures
import plan_kernels
import plan_nccl_tests
import plan_overlap
import plan_programs
import plan_python
import plan_several
from environment import Environment
from mps import Mps
from places import ROOT, Places
from runner import Runner
from step import Step
from summary import Summary


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tools/gpu-test", description=__doc__)
    parser.add_argument(
        "--nccl", metavar="DIR", help="a real NCCL >= 2.30.3 (lib/) and nccl-tests (bin/) to compare with"
    )
    parser.add_argument("--quick", action="store_true", help="fewer numbers of ranks and sizes")
    parser.add_argument("--build", action="store_true", help="build first even if out/cuda is there")
    parser.add_argument("--no-build", action="store_true", help="never build")
    parser.add_argument(
        "--out", metavar="DIR", default=str(ROOT / "out" / "gpu-test"), help="folder for the report"
    )
    parser.add_argument(
        "--only", metavar="PATTERNS", default="*", help="step names, e.g. 'kernels/*,pytorch/*'"
    )
    parser.add_argument(
        "--budget", metavar="SECONDS", type=float, default=3600, help="end tidily after this time"
    )
    parser.add_argument(
        "--devices", metavar="K", type=int, help="GPUs to use; rank r runs on GPU r modulo K (default: all)"
    )
    parser.add_argument(
        "--several",
        metavar="PARTS",
        type=parts,
        help=f"instead: what several GPUs can show; all, or some of {','.join(plan_several.PARTS)}",
    )
    parser.add_argument("--no-mps", action="store_true", help="do not start the Multi-Process Service")
    parser.add_argument(
        "--rehearse",
        action="store_true",
        help="NCCL programs and benchmark on the emulated machine and its NCCL (out/emu); needs no GPU",
    )
    parser.add_argument("--dry-run", action="store_true", help="print the plan and run nothing")
    return parser.parse_args()


def parts(text: str) -> list[str]:
    chosen = list(plan_several.PARTS) if text == "all" else text.split(",")
    if unknown := set(chosen) - set(plan_several.PARTS):
        raise argparse.ArgumentTypeError(f"no part {', '.join(sorted(unknown))}")
    return chosen


def places_of(arguments: argparse.Namespace) -> Places:
    if not arguments.rehearse:
        return Places(arguments.nccl)
    arguments.no_build = arguments.no_mps = True
    arguments.devices = arguments.devices or 1
    return Places(str(ROOT / "out" / "emu" / "lib" / "emulated"), flavour="emu")


def count_devices() -> int:
    try:
        listed = subprocess.run(
            ["nvidia-smi", "-L"], capture_output=True, text=True, timeout=30, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return 0
    return sum(line.startswith("GPU ") for line in listed.splitlines())


def plan(arguments: argparse.Namespace, places: Places) -> list[Step]:
    devices = arguments.devices or max(1, count_devices())
    environment = Environment(places, devices)
    quick = arguments.quick
    if arguments.several:
        return plan_several.steps(places, environment, arguments.several)
    return [
        *plan_doctor.steps(places, environment),
        *plan_kernels.rank_suite(places, environment, (2, 4) if quick else (2, 3, 4, 5, 8)),
        *plan_programs.own_programs(places, environment, (4,) if quick else (2, 3, 4, 5, 8)),
        *plan_programs.unusual_launches(places, environment),
        *plan_programs.on_request(places, environment),
        *plan_programs.rare_cases(places, environment),
        *plan_programs.started_by_the_tool(places, environment),
        *plan_programs.wrong_calls(places, environment),
        *plan_programs.default_verdict(places, environment),
        *plan_failures.steps(places, environment, (4,) if devices == 1 else (min(4, devices),)),
        *plan_python.pytorch(places, environment, (4,) if quick else (2, 4)),
        *plan_python.loaders(places, environment),
        *plan_nccl_tests.nccl_tests(places, environment, ranks=4 if devices == 1 else min(4, devices)),
        *plan_bench.steps(places, environment, (2, 8) if quick else (2, 4, 8), quick),
        *plan_overlap.steps(places, environment),
        *plan_kernels.sanitizer(places, environment),
    ]


def wanted(step: Step, arguments: argparse.Namespace) -> bool:
    return any(fnmatch.fnmatch(step.name, pattern) for pattern in arguments.only.split(","))


def must_build(arguments: argparse.Namespace, places: Places) -> bool:
    return arguments.build or (not arguments.no_build and places.preload() is None)


def print_plan(steps: list[Step]) -> None:
    for step in steps:
        print(f"{step.limit_s:4} s  {step.name}" + (f"  (skipped: {step.missing})" if step.missing else ""))
        for name, value in sorted(step.variables.items()):
            print(f"          {name}={value}")
        print(f"          {' '.join(step.command)}")


def main() -> int:
    arguments = parse()
    deadline = time.monotonic() + arguments.budget
    places = places_of(arguments)
    if arguments.dry_run:
        print_plan([step for step in plan(arguments, places) if wanted(step, arguments)])
        return 0
    work = ROOT / "out" / "gpu-test" / "work"
    shutil.rmtree(work, ignore_errors=True)
    summary = Summary(pathlib.Path(arguments.out), work)
    with Runner(work, Mps(wanted=not arguments.no_mps), deadline) as runner:
        run_all(runner, summary, arguments, places)
    counts = summary.counts()
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] or not counts["passed"] else 0


def run_all(runner: Runner, summary: Summary, arguments: argparse.Namespace, places: Places) -> None:
    """The plan is made after the build, since it depends on what was built."""
    if must_build(arguments, places):
        step = plan_kernels.build()
        summary.add(runner.run(step), runner.log_path(step))
    for step in plan(arguments, places):
        if wanted(step, arguments):
            summary.add(runner.run(step), runner.log_path(step))


if __name__ == "__main__":
    sys.exit(main())
