"""NCCL as inference servers load it: ctypes opens the file that VLLM_NCCL_SO_PATH names and fetches every
function that it lists, so a library that lacks one fails at once. CUDA comes the same way, and nothing else is
needed. Usage: under launch.py, with the folder for the results."""

import ctypes
import hashlib
import json
import os
import pathlib
import random
import struct
import sys

from exchange import broadcast

FUNCTIONS = (
    "ncclGetErrorString",
    "ncclGetVersion",
    "ncclGetUniqueId",
    "ncclCommInitRank",
    "ncclAllReduce",
    "ncclReduce",
    "ncclAllGather",
    "ncclReduceScatter",
    "ncclSend",
    "ncclRecv",
    "ncclBroadcast",
    "ncclCommDestroy",
    "ncclGroupStart",
    "ncclGroupEnd",
    "ncclCommWindowRegister",
    "ncclCommWindowDeregister",
)
# Name, NCCL's number, bytes, and how a whole number is written.
TYPES = (
    ("fp16", 6, 2, lambda value: struct.pack("<e", value)),
    ("fp32", 7, 4, lambda value: struct.pack("<f", value)),
    ("bf16", 9, 2, lambda value: struct.pack("<f", value)[2:]),
)
COUNTS = (1, 1000, 65537)
SUM = 0
NON_BLOCKING, DEFAULT_COPY = 1, 4


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_byte * 128)]


class Cuda:
    def __init__(self, device: int):
        self._runtime = self._open()
        self.call("cudaSetDevice", device)
        self.stream = ctypes.c_void_p()
        self.call("cudaStreamCreateWithFlags", ctypes.byref(self.stream), NON_BLOCKING)

    @staticmethod
    def _open() -> ctypes.CDLL:
        for name in ("libcudart.so.13", "libcudart.so.12", "libcudart.so"):
            try:
                return ctypes.CDLL(name)
            except OSError:
                continue
        print("no libcudart")
        sys.exit(77)

    def call(self, name: str, *arguments) -> None:
        error = getattr(self._runtime, name)(*arguments)
        if error != 0:
            raise RuntimeError(f"{name}: error {error}")

    def upload(self, content: bytes) -> ctypes.c_void_p:
        memory = ctypes.c_void_p()
        self.call("cudaMalloc", ctypes.byref(memory), ctypes.c_size_t(len(content)))
        self.call("cudaMemcpy", memory, content, ctypes.c_size_t(len(content)), DEFAULT_COPY)
        self.call("cudaDeviceSynchronize")
        return memory

    def download(self, memory: ctypes.c_void_p, size: int) -> bytes:
        self.call("cudaStreamSynchronize", self.stream)
        content = ctypes.create_string_buffer(size)
        self.call("cudaMemcpy", content, memory, ctypes.c_size_t(size), DEFAULT_COPY)
        return content.raw


class Nccl:
    def __init__(self, path: str):
        handle = ctypes.CDLL(path)
        self._functions = {name: getattr(handle, name) for name in FUNCTIONS}
        self._functions["ncclGetErrorString"].restype = ctypes.c_char_p

    def call(self, name: str, *arguments) -> None:
        result = self._functions[name](*arguments)
        if result != 0:
            raise RuntimeError(f"{name}: {self._functions['ncclGetErrorString'](result).decode()}")

    def join(self, ranks: int, rank: int, folder: str) -> ctypes.c_void_p:
        unique_id = UniqueId()
        if rank == 0:
            self.call("ncclGetUniqueId", ctypes.byref(unique_id))
        payload = broadcast(folder, "id", bytes(unique_id) if rank == 0 else None)
        communicator = ctypes.c_void_p()
        unique_id = UniqueId.from_buffer_copy(payload)
        self.call("ncclCommInitRank", ctypes.byref(communicator), ranks, unique_id, rank)
        return communicator


def whole_numbers(seed: str, count: int) -> list[int]:
    """Small enough that every sum of them is exact in every type."""
    source = random.Random(seed)
    return [source.randint(-8, 8) for _ in range(count)]


def reduce_scatter(nccl: Nccl, cuda: Cuda, communicator, rank: int, ranks: int, kind, count: int) -> dict:
    """Checked here, and compared between the runs by its digest."""
    name, number, size, write = kind
    inputs = [whole_numbers(f"{name} {count} {each}", ranks * count) for each in range(ranks)]
    send = cuda.upload(b"".join(map(write, inputs[rank])))
    receive = cuda.upload(b"\xff" * (count * size))
    elements = ctypes.c_size_t(count)
    nccl.call("ncclReduceScatter", send, receive, elements, number, SUM, communicator, cuda.stream)
    out = cuda.download(receive, count * size)
    sums = map(sum, zip(*(values[rank * count : (rank + 1) * count] for values in inputs)))
    if out != b"".join(map(write, sums)):
        raise RuntimeError(f"wrong sum, {name} {count}")
    return {"name": f"reduce-scatter {name} {count}", "digest": hashlib.sha256(out).hexdigest()}


def all_reduce(nccl: Nccl, cuda: Cuda, communicator, rank: int) -> dict:
    values = cuda.upload(struct.pack("<f", rank + 1) * 1024)
    nccl.call("ncclAllReduce", values, values, ctypes.c_size_t(1024), 7, SUM, communicator, cuda.stream)
    return {"name": "all-reduce", "digest": hashlib.sha256(cuda.download(values, 4096)).hexdigest()}


def main() -> None:
    folder, rank, ranks = sys.argv[1], int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    cuda = Cuda(rank % int(os.environ.get("GPU_TEST_DEVICES", "1")))
    nccl = Nccl(os.environ["VLLM_NCCL_SO_PATH"])
    communicator = nccl.join(ranks, rank, folder)
    cases = [all_reduce(nccl, cuda, communicator, rank)]
    cases += [reduce_scatter(nccl, cuda, communicator, rank, ranks, kind, count) for kind in TYPES for count in COUNTS]
    nccl.call("ncclCommDestroy", communicator)
    result = {"cases": cases, "calls": len(TYPES) * len(COUNTS)}
    (pathlib.Path(folder) / f"rank{rank}.json").write_text(json.dumps(result))


if __name__ == "__main__":
    main()
