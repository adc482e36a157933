"""NCCL as inference servers load it: ctypes opens the file that VLLM_NCCL_SO_PATH names and fetches every
function that it lists, so a library that lacks one fails at once. Usage: under launch.py, with the folder for
the results."""

import ctypes
import os
import sys

import torch

from exchange import broadcast
from torch_rank import Rank

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
NCCL_TYPES = {torch.float16: 6, torch.float32: 7, torch.bfloat16: 9}
SUM = 0


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_byte * 128)]


class Library:
    def __init__(self, path: str):
        handle = ctypes.CDLL(path)
        self._functions = {name: getattr(handle, name) for name in FUNCTIONS}
        self._functions["ncclGetErrorString"].restype = ctypes.c_char_p

    def call(self, name: str, *arguments) -> None:
        result = self._functions[name](*arguments)
        if result != 0:
            raise RuntimeError(f"{name}: {self._functions['ncclGetErrorString'](result).decode()}")

    def join(self, rank: Rank, folder: str) -> ctypes.c_void_p:
        unique_id = UniqueId()
        if rank.rank == 0:
            self.call("ncclGetUniqueId", ctypes.byref(unique_id))
        payload = broadcast(folder, "id", bytes(unique_id) if rank.rank == 0 else None)
        communicator = ctypes.c_void_p()
        self.call(
            "ncclCommInitRank",
            ctypes.byref(communicator),
            rank.ranks,
            UniqueId.from_buffer_copy(payload),
            rank.rank,
        )
        return communicator


def reduce_scatter(
    library: Library, rank: Rank, communicator: ctypes.c_void_p, dtype: torch.dtype, count: int
) -> None:
    mine = rank.contributions(count, dtype, seed=count, whole=True)[rank.rank].clone()
    shard = torch.full((count,), float("nan"), dtype=dtype, device=rank.device)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream(rank.device)
    library.call(
        "ncclReduceScatter",
        ctypes.c_void_p(mine.data_ptr()),
        ctypes.c_void_p(shard.data_ptr()),
        ctypes.c_size_t(count),
        NCCL_TYPES[dtype],
        SUM,
        communicator,
        ctypes.c_void_p(stream.cuda_stream),
    )
    stream.synchronize()
    rank.results.calls += 1
    rank.results.exact(f"reduce-scatter {dtype} {count}", shard)


def all_reduce(library: Library, rank: Rank, communicator: ctypes.c_void_p) -> None:
    values = torch.full((1024,), float(rank.rank + 1), device=rank.device)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream(rank.device)
    library.call(
        "ncclAllReduce",
        ctypes.c_void_p(values.data_ptr()),
        ctypes.c_void_p(values.data_ptr()),
        ctypes.c_size_t(1024),
        NCCL_TYPES[torch.float32],
        SUM,
        communicator,
        ctypes.c_void_p(stream.cuda_stream),
    )
    stream.synchronize()
    rank.results.exact("all-reduce", values)


def main() -> None:
    rank = Rank(sys.argv[1])
    torch.cuda.set_device(rank.device)
    torch.zeros(1, device=rank.device)
    library = Library(os.environ["VLLM_NCCL_SO_PATH"])
    communicator = library.join(rank, sys.argv[1])
    all_reduce(library, rank, communicator)
    for dtype in NCCL_TYPES:
        for count in (1, 1000, 65537):
            reduce_scatter(library, rank, communicator, dtype, count)
    library.call("ncclCommDestroy", communicator)
    rank.results.save()


if __name__ == "__main__":
    main()
