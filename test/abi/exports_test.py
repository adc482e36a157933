"""Checks the two libraries as files: what they export, what they need, and what they are called.

usage: exports_test.py PRELOAD DROP_IN

The exported names are compared with exports_preload.txt and exports_dropin.txt, which are kept by hand on purpose: a name that
comes or goes shows in a review. Prints TAP."""

import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
GLIBC = re.compile(r"^(libc|libm|libdl|libpthread|ld-linux-[\w-]+)\.so\.\d+$")


def readelf(option, library):
    return subprocess.run(["readelf", "-W", option, library], capture_output=True, text=True, check=True).stdout


def dynamic(library, tag):
    return re.findall(rf"\({tag}\).*[\[:] ?\[?([^\]\n]+)\]?$", readelf("-d", library), re.MULTILINE)


def exported(library):
    """Names, with a version behind '@' if they have one."""
    names = set()
    for line in readelf("--dyn-syms", library).splitlines():
        columns = line.split()
        if len(columns) >= 8 and columns[4] in ("GLOBAL", "WEAK") and columns[6] != "UND":
            names.add(columns[7])
    return names


def differences(found, listed):
    return [f"exports {name}" for name in sorted(found - listed)] + [f"lacks {name}" for name in sorted(listed - found)]


def check_exports(library, list_name):
    return differences(exported(library), set((HERE / list_name).read_text(encoding="utf-8").split()))


def check_needed(library):
    return [f"needs {name}" for name in dynamic(library, "NEEDED") if not GLIBC.match(name)]


def check_name(library, wanted):
    found = dynamic(library, "SONAME")
    return [] if found == [wanted] else [f"is called {found}"]


def check_flags(library):
    """Stays loaded; has no search path of its own; its stack is not executable."""
    problems = [] if "NODELETE" in "".join(dynamic(library, "FLAGS_1")) else ["may be unloaded"]
    problems += [f"has a {tag}" for tag in ("RPATH", "RUNPATH") if dynamic(library, tag)]
    stack = [line.split() for line in readelf("-l", library).splitlines() if "GNU_STACK" in line]
    return problems + (["has an executable stack"] if "E" in stack[0][6] else [])


def checks(preload, drop_in):
    for library, names, soname in (
        (preload, "exports_preload.txt", "libnccl-slab.so"),
        (drop_in, "exports_dropin.txt", "libnccl.so.2"),
    ):
        yield f"{soname} exports what {names} lists, without versions", check_exports(library, names)
        yield f"{soname} needs glibc alone", check_needed(library)
        yield f"{soname} is called so", check_name(library, soname)
        yield f"{soname} has the right flags", check_flags(library)


def main(preload, drop_in):
    results = list(checks(preload, drop_in))
    print(f"1..{len(results)}")
    for number, (name, problems) in enumerate(results, 1):
        print(f"{'not ok' if problems else 'ok'} {number} - {name}")
        for problem in problems:
            print(f"# {problem}")
    return any(problems for _, problems in results)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
