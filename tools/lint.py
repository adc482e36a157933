"""Runs the checks of tools/lint; imported by run_tests.py, which counts each as a case.

A check is a function without arguments that returns True (clean), False (it has printed what is wrong) or None (its tool
is not on this machine). clang-tidy is slow, so a unit that was clean is not read again until it, a header of the project
that it includes, its command or its .clang-tidy changes. Its static analyzer, half of the time, runs with --full alone.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

import check_includes
import check_settings

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE_FOLDERS = ("include", "src", "test")
SOURCE_ENDINGS = {".cc", ".cpp", ".c", ".h", ".cu", ".cuh", ".hpp"}
BUILD = ROOT / "build" / "emu"
TIDY_LIMIT = 900  # seconds for one unit


def sources():
    for folder in SOURCE_FOLDERS:
        yield from (path for path in sorted((ROOT / folder).rglob("*")) if path.suffix in SOURCE_ENDINGS)


def quiet(command, timeout=600):
    """Whether the command succeeded within its time, and what it printed."""
    try:
        done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return False, f"{command[0]}: no end after {timeout} s: {command[-1]}\n"
    return done.returncode == 0, done.stdout


def check_format():
    tool = os.environ.get("CLANG_FORMAT")
    if not tool:
        return None
    good, output = quiet([tool, "--dry-run", "-Werror", *map(str, sources())])
    for name in sorted({line.split(":", 1)[0] for line in output.splitlines() if "-Wclang-format-violations" in line}):
        print(f"{name}: not formatted; tools/lint --fix mends it")
    return good


def fix_format():
    quiet([os.environ["CLANG_FORMAT"], "-i", *map(str, sources())])


def check_python():
    good = True
    for path in sorted([*(ROOT / "tools").rglob("*.py"), *(ROOT / "test").rglob("*.py")]):
        try:
            compile(path.read_text(encoding="utf-8"), str(path), "exec")
        except SyntaxError as error:
            print(f"{path}:{error.lineno}: {error.msg}")
            good = False
    return good


def headers_by_source():
    """Which files of the project each compiled source includes, as ninja noted them at the last build."""
    _, output = quiet(["ninja", "-C", str(BUILD), "-t", "deps"])
    result = {}
    for block in re.split(r"\n(?=\S)", output):
        paths = [(BUILD / line.strip()).resolve() for line in block.splitlines()[1:] if line.strip()]
        if paths:
            result[paths[0]] = [path for path in paths if path.is_relative_to(ROOT) and path.is_file()]
    return result


def checks_for(unit):
    """The .clang-tidy of the root and those of the folders on the way to the unit."""
    folders = [folder for folder in unit.parents if folder.is_relative_to(ROOT)]
    return [folder / ".clang-tidy" for folder in folders if (folder / ".clang-tidy").exists()]


def fingerprint(commands, unit, read_files):
    """Names the result of a unit by all that it depends on; None when that is not known yet."""
    if not read_files:
        return None
    digest = hashlib.sha256("\0".join(commands).encode())
    for path in sorted({unit, *checks_for(unit), *read_files}):
        digest.update(path.read_bytes())
    return digest.hexdigest()


class Tidy:
    def __init__(self, tool, analyzer):
        self.command = [tool, "--quiet", "-p", str(BUILD), "--extra-arg=-Wno-unknown-warning-option", "--extra-arg=-Wno-error",
                        *([] if analyzer else ["--checks=-clang-analyzer-*"])]
        self.seen = ROOT / ".cache" / "tidy"
        self.seen.mkdir(parents=True, exist_ok=True)
        self.headers = headers_by_source()

    def clean(self, unit, command):
        """Whether the unit, which `command` compiles, is clean; prints the findings if not."""
        name = fingerprint((*self.command, command), unit, self.headers.get(unit))
        if name and (self.seen / name).exists():
            return True
        good, output = quiet([*self.command, str(unit)], TIDY_LIMIT)
        if not good:
            print("\n".join(line for line in output.splitlines() if "warnings generated" not in line), flush=True)
        elif name:
            (self.seen / name).touch()
        return good


def units(everything):
    """The host C++ that this build compiles, with its command: all of src/, and the tests where everything is asked for."""
    entries = json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8"))
    folders = [ROOT / "src", ROOT / "test"] if everything else [ROOT / "src"]
    commands = {pathlib.Path(entry["directory"], entry["file"]).resolve(): entry["command"] for entry in entries}
    return {path: command for path, command in sorted(commands.items())
            if path.suffix in {".cc", ".cpp"} and any(path.is_relative_to(folder) for folder in folders)}


def check_tidy(everything):
    tool = os.environ.get("CLANG_TIDY")
    if not tool or not (BUILD / "compile_commands.json").exists():
        return None
    tidy = Tidy(tool, analyzer=everything)
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        found = units(everything)
        return all(list(pool.map(tidy.clean, found.keys(), found.values())))


def run_all(everything, tidy=True):
    checks = [("format", check_format), ("python", check_python),
              ("includes", lambda: check_includes.check(ROOT)), ("settings", lambda: check_settings.check(ROOT))]
    if tidy:
        checks.append(("clang-tidy", lambda: check_tidy(everything)))
    for name, check in checks:
        good = check()
        print(f"lint: {name}: {'skipped' if good is None else 'OK' if good else 'FAILED'}", flush=True)
        yield name, good


def main():
    parser = argparse.ArgumentParser(prog="tools/lint")
    parser.add_argument("--full", action="store_true", help="clang-tidy on the tests too, with its analyzer")
    parser.add_argument("--fix", action="store_true", help="rewrite the files to the format first")
    arguments = parser.parse_args()
    if arguments.fix:
        fix_format()
    return 1 if False in [good for _, good in run_all(arguments.full)] else 0


if __name__ == "__main__":
    sys.exit(main())
