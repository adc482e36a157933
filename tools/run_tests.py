"""Runs every test that needs no GPU and counts the cases; tools/test calls it after tools/setup. See --help.

Each step prints as it goes; failures are named again at the end, above the closing line `N passed, N failed`.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import time
import traceback
import unittest

import check_spills
import lint
from tally import Tally

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Optimised little and with lines alone for debuggers: that halves the time to compile. Not enum: callers of a C interface may
# pass any number, and the tests do.
SANITIZERS = {
    "asan": ["-Doptimization=1", "-Db_sanitize=address,undefined", "-Dcpp_args=-g1 -fno-sanitize=enum"],
    "tsan": ["-Doptimization=1", "-Db_sanitize=thread", "-Dcpp_args=-g1"],
}
QUICK_ARCHS = "90"
STEP_LIMIT = 3600  # seconds; a step that takes longer has hung


def run(*command, **environment):
    """Runs a command with its output on ours; True when it succeeded within the limit."""
    print("+", *command, flush=True)
    try:
        done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, env={**os.environ, **environment},
                              timeout=STEP_LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def run_and_read(*command):
    """As run(), and what the command printed, which appears when it has ended."""
    print("+", *command, flush=True)
    good, output = lint.quiet(command, STEP_LIMIT)
    print(output, flush=True)
    return good, output


def run_suites(tally, folder, options, environment):
    """Builds and runs the tests that Meson knows in build/FOLDER, all or those of some suites."""
    build = ROOT / "build" / folder
    for stale in build.glob("*.xml"):  # GoogleTest's results; a program that dies leaves the old ones
        stale.unlink()
    logs = [build / "meson-logs" / name for name in ("testlog.json", "testlog.junit.xml")]
    for log in logs:
        log.unlink(missing_ok=True)
    good = run(os.environ["MESON"], "test", "-C", str(build), "--print-errorlogs", *options, **environment)
    if all(log.exists() for log in logs):
        tally.add_meson_logs(build)
    elif not good:
        tally.add(f"{folder}: build of the tests", False)


def step_lint(tally, arguments):
    """clang-tidy, which reads for a quarter of an hour, only in full; else `tools/lint` runs it."""
    for name, good in lint.run_all(everything=arguments.full, tidy=arguments.full):
        tally.add(f"lint: {name}", good is not False, skipped=good is None)


def step_tools(tally, arguments):
    del arguments
    suite = unittest.defaultTestLoader.discover(str(ROOT / "test" / "tools"), "*_test.py")
    result = unittest.TextTestRunner(stream=sys.stdout).run(suite)
    bad = [str(test) for test, _ in result.failures + result.errors]
    for name in bad:
        tally.add(f"tools: {name}", False)
    for _ in range(result.testsRun - len(bad)):
        tally.add("tools", True)


def step_emu(tally, arguments):
    tally.add("tools/build emu", run("tools/build", "emu"))
    run_suites(tally, "emu", arguments.meson, arguments.environment)


def step_exports(tally, arguments):
    del arguments
    tally.add("exports", run(sys.executable, "tools/check_exports.py", "out/emu"))


def step_demo(tally, arguments):
    del arguments
    tally.add("tools/demo", run("tools/demo"))


def step_sanitizer(name):
    def step(tally, arguments):
        good = run("tools/configure", f"build/{name}", *SANITIZERS[name], "-Db_lundef=false")
        tally.add(f"{name}: configure", good)
        if good:
            environment = {"NCCL_SLAB_TEST_SANITIZER": name, **arguments.environment}
            run_suites(tally, name, ["--suite", name, "--timeout-multiplier", "5", *arguments.meson], environment)

    return step


def step_cuda(tally, arguments):
    """Compiles the library for GPUs; all of it and for all architectures in full, else not where `tools/build cuda` puts it."""
    architectures = "all architectures" if arguments.full else QUICK_ARCHS
    if not os.environ.get("NVCC"):
        tally.add(f"cuda: build for {architectures}", True, skipped=True)
        return
    folder = ROOT / "build" / ("cuda" if arguments.full else "cuda-quick")
    for compiled in folder.glob("src/kernels/launch_cuda.o"):  # compiled anew, so that ptxas tells of every kernel
        compiled.unlink()
    if arguments.full:
        good, log = run_and_read("tools/build", "cuda")
    else:
        configured = run("tools/configure", f"build/{folder.name}", "-Dflavour=cuda", "-Ddebug=false", f"-Dgpu_archs={QUICK_ARCHS}")
        good, log = run_and_read("ninja", "-C", str(folder), "src/abi/libnccl-slab.so") if configured else (False, "")
    tally.add(f"cuda: build for {architectures}", good)
    tally.add("cuda: no kernel spills registers", good and check_spills.check(log))


STEPS = {
    "tools": step_tools,
    "emu": step_emu,
    "exports": step_exports,
    "demo": step_demo,
    "lint": step_lint,  # after emu: it reads what that build noted
    "asan": step_sanitizer("asan"),
    "tsan": step_sanitizer("tsan"),
    "cuda": step_cuda,
}


def parse_arguments():
    parser = argparse.ArgumentParser(prog="tools/test", description="Runs every test that needs no GPU.")
    parser.add_argument("steps", nargs="*", metavar="STEP", help=f"only these of: {' '.join(STEPS)}")
    parser.add_argument("--full", action="store_true", help="full repeat counts, all GPU architectures, clang-tidy")
    arguments = parser.parse_args()
    if unknown := set(arguments.steps) - set(STEPS):
        parser.error(f"no such step: {' '.join(sorted(unknown))}")
    arguments.environment = {"NCCL_SLAB_TEST_REPEAT": "20"} if arguments.full else {}
    arguments.meson = ["--timeout-multiplier", "20"] if arguments.full else []
    return arguments


def main():
    arguments = parse_arguments()
    tally, start = Tally(), time.monotonic()
    for name in arguments.steps or STEPS:
        print(f"\n== {name} ({time.monotonic() - start:.0f} s)", flush=True)
        try:
            STEPS[name](tally, arguments)
        except Exception:  # a broken step is a failure; the count still closes the output
            traceback.print_exc(file=sys.stdout)
            tally.add(f"{name}: broke off", False)
    print(f"\n== done ({time.monotonic() - start:.0f} s)")
    for failure in tally.failures:
        print(f"FAILED  {failure}")
    print(tally.closing_line(), flush=True)
    return 1 if tally.failures or not tally.passed else 0


if __name__ == "__main__":
    sys.exit(main())
