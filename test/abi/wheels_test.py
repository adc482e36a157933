"""Compares the drop-in with real releases of NCCL, on a machine without a GPU. For each release, as a wheel from PyPI:
the drop-in exports all that the release has; with the release behind it, calls that need no GPU (version, unique
id, error strings, wrong arguments) answer as the release itself does.

usage: wheels_test.py DROP_IN [VERSION...]

VERSION may be a release (2.28.9), or "all"; without one the oldest and the newest, in tools/test --full all. Libraries are
kept in .cache/nccl-wheels of the source tree. Without a network, and with nothing kept, the releases are skipped. Prints TAP."""

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


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_char * 128)]


def wrong_calls():
    """Calls that need no GPU because an argument is wrong: name, functions in order, each with its arguments."""
    comm, number, other = ctypes.c_void_p(), ctypes.c_int(), ctypes.c_int()
    result, value, one = ctypes.byref(comm), ctypes.byref(number), ctypes.c_size_t(1)
    config = (ctypes.c_uint64 * 64)(512)  # a size, and no magic number
    reduce_scatter = ("ncclReduceScatter", None, None, one, 7, 0, None, None)
    start, end = ("ncclGroupStart",), ("ncclGroupEnd",)
    calls = {
        "version to nowhere": [("ncclGetVersion", None)],
        "unique id to nowhere": [("ncclGetUniqueId", None)],
        "an empty group": [start, end],
        "end of no group": [end],
        "simulated end of no group": [("ncclGroupSimulateEnd", None)],
        "simulated end to a wrong structure": [start, ("ncclGroupSimulateEnd", config), end],
        "reduce-scatter of nothing": [reduce_scatter],
        "reduce-scatter of nothing in a group": [start, reduce_scatter, end, end],
        "reduce-scatter of nothing in two groups": [start, start, reduce_scatter, end, end],
        "error, then an empty group": [start, reduce_scatter, end, start, end],
        "all-reduce of nothing": [("ncclAllReduce", None, None, one, 7, 0, None, None)],
        "send of nothing": [("ncclSend", None, one, 7, 0, None, None)],
        "init with a wrong rank": [("ncclCommInitRank", result, 2, UniqueId(), 7)],
        "init with a negative rank": [("ncclCommInitRank", result, 2, UniqueId(), -1)],
        "init without ranks": [("ncclCommInitRank", result, 0, UniqueId(), 0)],
        "init to nowhere": [("ncclCommInitRank", None, 1, UniqueId(), 0)],
        "init to nowhere in a group": [start, ("ncclCommInitRank", None, 1, UniqueId(), 0), end],
        "init with a wrong structure": [("ncclCommInitRankConfig", result, 1, UniqueId(), 0, config)],
        "init without ids": [("ncclCommInitRankScalable", result, 1, 0, 0, None, None)],
        "init with more ids than ranks": [("ncclCommInitRankScalable", result, 1, 0, 2, UniqueId(), None)],
        "init all of none": [("ncclCommInitAll", None, 0, None)],
        "init all to nowhere": [("ncclCommInitAll", None, 2, None)],
        "init all of less than none": [("ncclCommInitAll", result, -1, None)],
        "split of nothing": [("ncclCommSplit", None, 0, 0, result, None)],
        "split of nothing to nowhere": [("ncclCommSplit", None, -1, 0, None, None)],
        "shrink of nothing": [("ncclCommShrink", None, None, 0, result, None, 0)],
        "grow of nothing": [("ncclCommGrow", None, 2, None, -1, result, None)],
        "finalize of nothing": [("ncclCommFinalize", None)],
        "destroy of nothing": [("ncclCommDestroy", None)],
        "abort of nothing": [("ncclCommAbort", None)],
        "revoke of nothing": [("ncclCommRevoke", None, 0)],
        "suspend of nothing": [("ncclCommSuspend", None, 1)],
        "resume of nothing": [("ncclCommResume", None)],
        "state of nothing": [("ncclCommGetAsyncError", None, value)],
        "rank of nothing": [("ncclCommUserRank", None, value)],
        "size of nothing": [("ncclCommCount", None, value)],
        "operation for nothing": [("ncclRedOpCreatePreMulSum", value, ctypes.byref(other), 7, 1, None)],
        "end of a built-in operation": [("ncclRedOpDestroy", 0, None)],
        "end of no operation": [("ncclRedOpDestroy", 77, None)],
    }
    return calls.items()


def in_child(nccl, calls):
    """The results of calls, from a process of their own: some releases crash on some of them, which is an answer too."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, bytes(getattr(nccl, function)(*arguments) & 255 for function, *arguments in calls))
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as results:
        answer = list(results.read())
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return answer if status == 0 else f"status {status}"


def answers_of(path):
    """Run in a process of its own, with the library loaded as a program would load it."""
    nccl = ctypes.CDLL(path)
    nccl.ncclGetErrorString.restype = nccl.ncclGetLastError.restype = ctypes.c_char_p
    version, unique = ctypes.c_int(), UniqueId()
    answers = {name: in_child(nccl, calls) if all(hasattr(nccl, function) for function, *_ in calls) else None
               for name, calls in wrong_calls()}
    answers |= {
        "version": [nccl.ncclGetVersion(ctypes.byref(version)), version.value],
        "unique id": [nccl.ncclGetUniqueId(ctypes.byref(unique)), any(bytes(unique))],
        "error strings": [nccl.ncclGetErrorString(code).decode() for code in range(-1, 10)],
        "last error": (nccl.ncclGetLastError(None) or b"").decode(),
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
    # What a release lacks the drop-in answers itself.
    return [f"{call}: {answer} alone, {behind.get(call)} behind the drop-in" for call, answer in alone.items()
            if answer is not None and answer != behind.get(call)] + ([str(behind)] if "failed" in behind else [])


def results(drop_in, versions):
    for version in versions:
        release = download(version)
        if release is None:
            yield f"NCCL {version} # SKIP cannot be downloaded", []
            continue
        yield f"the drop-in exports all of NCCL {version}", missing_exports(drop_in, release)
        yield f"NCCL {version} answers the same behind the drop-in", different_answers(drop_in, release)


def main(drop_in, *versions):
    full = os.environ.get("NCCL_SLAB_TEST_REPEAT", "1") != "1"  # tools/test --full
    versions = ALL if versions == ("all",) or (full and not versions) else versions or BY_DEFAULT
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
