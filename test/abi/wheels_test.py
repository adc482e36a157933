"""Compares the drop-in with real releases of NCCL, on a machine without a GPU. For each release, as a wheel from PyPI:
the drop-in exports all that the release has; with the release behind it, calls that need no GPU (version, unique
id, error strings, wrong arguments) answer as the release itself does.

usage: wheels_test.py DROP_IN [VERSION...]

VERSION may be a release (2.28.9), or "all". Libraries are kept in .cache/nccl-wheels of the source tree. Without a network, and
with nothing kept, the releases are skipped. Prints TAP."""

import ctypes
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEPT = ROOT / ".cache" / "nccl-wheels"
ALL = ["2.18.3", "2.21.5", "2.23.4", "2.27.7", "2.28.9", "2.30.7", "2.32.3"]
BY_DEFAULT = ["2.18.3", "2.32.3"]


def download(version):
    """The library of a release; None when it cannot be had."""
    library = KEPT / version / "libnccl.so.2"
    if library.exists():
        return library
    own_python = ROOT / ".venv" / "bin" / "python"
    python = own_python if own_python.exists() else sys.executable
    with tempfile.TemporaryDirectory() as folder:
        package = f"nvidia-nccl-cu12=={version}"
        command = [python, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, package]
        if subprocess.run(command, capture_output=True, check=False).returncode != 0:
            return None
        wheel = next(pathlib.Path(folder).glob("*.whl"))
        library.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(wheel) as archive, open(f"{library}.part", "wb") as to:
            with archive.open("nvidia/nccl/lib/libnccl.so.2") as source:
                shutil.copyfileobj(source, to)
        os.rename(f"{library}.part", library)
    return library


def exported(library):
    text = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1] for line in text.splitlines() if "nccl" in line.split()[-1]}


def missing_exports(drop_in, release):
    return [f"lacks {name}" for name in sorted(exported(release) - exported(drop_in))]


def answers_of(path):
    """Run in a process of its own, with the library loaded as a program would load it."""
    nccl = ctypes.CDLL(path)
    nccl.ncclGetErrorString.restype = nccl.ncclGetLastError.restype = ctypes.c_char_p
    version, error, comm = ctypes.c_int(), ctypes.c_int(), ctypes.c_void_p()
    unique = (ctypes.c_char * 128)()

    class Id(ctypes.Structure):
        _fields_ = [("internal", ctypes.c_char * 128)]

    answers = {
        "version": [nccl.ncclGetVersion(ctypes.byref(version)), version.value],
        "version to nowhere": nccl.ncclGetVersion(None),
        "unique id": [nccl.ncclGetUniqueId(unique), any(unique.raw)],
        "error strings": [nccl.ncclGetErrorString(code).decode() for code in range(-1, 10)],
        "last error": (nccl.ncclGetLastError(None) or b"").decode(),
        "group": [nccl.ncclGroupStart(), nccl.ncclGroupEnd()],
        "reduce-scatter of nothing": nccl.ncclReduceScatter(None, None, ctypes.c_size_t(1), 7, 0, None, None),
        "all-reduce of nothing": nccl.ncclAllReduce(None, None, ctypes.c_size_t(1), 7, 0, None, None),
        "init with a wrong rank": nccl.ncclCommInitRank(ctypes.byref(comm), 2, Id(), 7),
        "init without ranks": nccl.ncclCommInitRank(ctypes.byref(comm), 0, Id(), 0),
        "init to nowhere": nccl.ncclCommInitRank(None, 1, Id(), 0),
        "init all of none": nccl.ncclCommInitAll(None, 0, None),
        "destroy nothing": nccl.ncclCommDestroy(None),
        "abort nothing": nccl.ncclCommAbort(None),
        "finalize nothing": nccl.ncclCommFinalize(None),
        "split nothing": nccl.ncclCommSplit(None, 0, 0, ctypes.byref(comm), None),
        "state of nothing": nccl.ncclCommGetAsyncError(None, ctypes.byref(error)),
        "rank of nothing": nccl.ncclCommUserRank(None, ctypes.byref(error)),
        "send of nothing": nccl.ncclSend(None, ctypes.c_size_t(1), 7, 0, None, None),
    }
    json.dump(answers, sys.stdout)


def ask(path, behind=None):
    """The answers of a library, or what went wrong. NCCL prints to stdout only when asked to."""
    environment = dict(os.environ)
    environment.pop("LD_PRELOAD", None)
    if behind is not None:
        environment["NCCL_SLAB_NCCL_LIB"] = str(behind)
    command = [sys.executable, __file__, "--answers", str(path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else {"failed": done.returncode, "with": done.stderr[-500:]}


def different_answers(drop_in, release):
    alone, behind = ask(release), ask(drop_in, release)
    if "failed" in alone:
        return [f"the release alone: {alone}"]
    return [f"{call}: {alone[call]} alone, {behind.get(call)} behind the drop-in"
            for call in alone if alone[call] != behind.get(call)] + ([str(behind)] if "failed" in behind else [])


def results(drop_in, versions):
    for version in versions:
        release = download(version)
        if release is None:
            yield f"NCCL {version} # SKIP cannot be downloaded", []
            continue
        yield f"the drop-in exports all of NCCL {version}", missing_exports(drop_in, release)
        yield f"NCCL {version} answers the same behind the drop-in", different_answers(drop_in, release)


def main(drop_in, *versions):
    versions = ALL if versions == ("all",) else versions or BY_DEFAULT
    failed = False
    print("TAP version 13")
    number = 0
    for number, (name, problems) in enumerate(results(drop_in, versions), 1):
        failed = failed or bool(problems)
        print(f"{'not ok' if problems else 'ok'} {number} - {name}", *[f"# {line}" for line in problems], sep="\n")
        sys.stdout.flush()
    print(f"1..{number}")
    return failed


if __name__ == "__main__":
    sys.exit(answers_of(sys.argv[2]) if sys.argv[1] == "--answers" else main(*sys.argv[1:]))
