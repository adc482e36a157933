"""Finds kernels whose registers do not suffice, in what ptxas says of each (-Xptxas -v). Spilled registers go through memory in
the loops that should be bound by the links; ptxas tells, and nothing fails.

Usage: check_spills.py LOG    the output of a build that compiled the kernels
"""
import pathlib
import re
import sys

KERNEL = re.compile(r"Compiling entry function '(\S+)' for '(\w+)'")
SPILLS = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")


def kernels(log):
    """Yields (mangled name, architecture, bytes stored and loaded by spills)."""
    kernel = None
    for line in log.splitlines():
        if found := KERNEL.search(line):
            kernel = found.groups()
        elif kernel and (found := SPILLS.search(line)):
            yield (*kernel, sum(map(int, found.groups())))
            kernel = None


def check(log):
    """Whether there are kernels and none spills; prints those that do."""
    found = list(kernels(log))
    if not found:
        print("spills: the log tells of no kernel")
    spilling = [each for each in found if each[2]]
    for name, architecture, count in spilling:
        print(f"spills: {architecture}: {count} bytes in {name}")
    return bool(found) and not spilling


if __name__ == "__main__":
    sys.exit(0 if check(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8", errors="replace")) else 1)
