"""Checks that the folders of src/ include each other only along the arrows

    abi -> call -> {comm, kernels, topology, tune} -> device -> base

where, among siblings, comm may use kernels, topology and tune, and tune may use topology. The tool may use everything, the
loopback NCCL only the emulated machine and base, and nobody but those two and tests the emulated machine's insides.
Usage: check_includes.py [ROOT]
"""
import pathlib
import re
import sys

BELOW = {
    "base": set(),
    "device": {"base"},
    "kernels": {"device", "base"},
    "topology": {"device", "base"},
    "tune": {"topology", "device", "base"},
    "comm": {"kernels", "topology", "tune", "device", "base"},
    "call": {"comm", "kernels", "topology", "tune", "device", "base"},
    "abi": {"call", "comm", "kernels", "topology", "tune", "device", "base"},
    "loopback": {"device", "base"},
    "tool": {"abi", "call", "comm", "kernels", "topology", "tune", "device", "loopback", "base"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def is_allowed(folder, included):
    other = included.split("/", 1)[0]
    if folder == "loopback" and other == "device":
        return included.startswith("device/emulated/")
    return other == folder or other not in BELOW or other in BELOW[folder]


def violations(root):
    """Yields "file: message" for each include against the arrows, and for each folder that the arrows do not know."""
    source = pathlib.Path(root, "src")
    for folder in sorted(path for path in source.iterdir() if path.is_dir()):
        if folder.name not in BELOW:
            yield f"{folder.relative_to(root)}: not in the arrows of tools/check_includes.py"
            continue
        for path in sorted(folder.rglob("*.*")):
            if path.suffix not in {".h", ".cc", ".cu", ".cuh", ".def", ".c"}:
                continue
            for included in INCLUDE.findall(path.read_text(encoding="utf-8")):
                if not is_allowed(folder.name, included):
                    yield f"{path.relative_to(root)}: {folder.name} must not include {included}"
    for path in sorted(pathlib.Path(root, "include").rglob("*.h")):
        for included in INCLUDE.findall(path.read_text(encoding="utf-8")):
            if included.split("/", 1)[0] in BELOW:
                yield f"{path.relative_to(root)}: a public header must not include {included}"


def check(root):
    found = list(violations(root))
    print("".join(f"{line}\n" for line in found), end="")
    return not found


if __name__ == "__main__":
    sys.exit(0 if check(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")) else 1)
