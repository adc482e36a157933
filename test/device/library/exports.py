"""Checks what the emulated libcudart exports and needs.

usage: exports.py LIBRARY. Exports: CUDA's functions, ours, the two version names; needs: glibc (and sanitizers) alone.
"""

import re
import subprocess
import sys


def lines(*command: str) -> list[str]:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def main() -> int:
    library = sys.argv[1]
    wrong = []
    names = {line.split()[-1].split("@")[0] for line in lines("nm", "-D", "--defined-only", library)}
    allowed = re.compile(r"^(cuda[A-Z]\w*|__cuda[A-Z]\w*|nccl_slab_emulated_\w+|libcudart\.so\.1[23])$")
    wrong += [f"exports {name}" for name in sorted(names) if not allowed.match(name)]
    wrong += [f"lacks {name}" for name in ("libcudart.so.12", "libcudart.so.13", "cudaMalloc") if name not in names]
    if len(names) < 400:
        wrong.append(f"exports {len(names)} names only")
    needed = re.findall(r"NEEDED.*\[(.*)\]", "\n".join(lines("readelf", "-d", library)))
    known = re.compile(r"^(libc|libm|libdl|librt|libpthread|ld-linux-x86-64|lib[atu]b?san)\.so")
    wrong += [f"needs {name}" for name in needed if not known.match(name)]
    print("\n".join(wrong) or f"{len(names)} exports, needs {', '.join(needed)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
