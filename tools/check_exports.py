"""Checks what the installed libraries export and need.

The preloaded libraries live in other people's processes: they export NCCL's names and our own only and need nothing but
glibc. Each broken rule is printed.
Usage: check_exports.py OUT_FOLDER    e.g. out/emu
"""
import pathlib
import re
import subprocess
import sys

PRELOADED = ("lib/libnccl-slab.so", "lib/nccl-slab/libnccl.so.2")
EXPORT = re.compile(r"^p?nccl[A-Z]\w*$|^nccl_slab_\w+$")
GLIBC = re.compile(r"^(libc|libm|libdl|librt|libpthread|ld-linux[\w-]*)\.so\.\d+$")


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def exported(library):
    for line in output_of("nm", "-D", "--defined-only", str(library)).splitlines():
        yield line.split()[-1].split("@")[0]


def needed(library):
    return re.findall(r"\(NEEDED\).*\[(.+)\]", output_of("readelf", "-dW", str(library)))


def violations(library):
    names = list(exported(library))
    if not any(name.startswith("nccl") for name in names):
        yield f"{library}: exports nothing of NCCL"
    yield from (f"{library}: exports {name}" for name in names if not EXPORT.match(name))
    yield from (f"{library}: needs {name}" for name in needed(library) if not GLIBC.match(name))


def main(out):
    found = []
    for name in PRELOADED:
        library = pathlib.Path(out, name)
        found += violations(library) if library.exists() else [f"{library}: not installed"]
    print("".join(f"{line}\n" for line in found), end="")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
