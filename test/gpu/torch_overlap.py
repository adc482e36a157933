"""What reduce-scatters cost a matrix product that runs beside them: its time alone, and while they go on. PyTorch
multiplies; NCCL is the file that VLLM_NCCL_SO_PATH names, whatever PyTorch itself has loaded. Ranks that share a GPU
leave the product to rank 0. Usage: under launch.py, with the folder for the results."""

import ctypes
import json
import math
import os
import pathlib
import statistics
import sys

import torch  # before NCCL: the copy that it needs is its own

from ctypes_loader import SUM, Nccl
from exchange import broadcast

SIZE, PRODUCTS = 4096, 40
SHARDS = (262144, 4194304, 16777216)  # bytes
BF16, REPEATS, TRIAL = 9, 5, 10
MARGIN = 2.0  # so much longer than the product alone do the reduce-scatters go on


class Timer:
    def __init__(self, stream: torch.cuda.Stream):
        self._stream = stream
        self.begin, self.end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def __enter__(self) -> "Timer":
        self.begin.record(self._stream)
        return self

    def __exit__(self, *_) -> None:
        self.end.record(self._stream)

    def us(self) -> float:
        return self.begin.elapsed_time(self.end) * 1e3


class Work:
    def __init__(self, nccl: Nccl, communicator, ranks: int, multiplies: bool):
        self._nccl, self._communicator, self._ranks, self._multiplies = nccl, communicator, ranks, multiplies
        self.calls = 0
        self.products, self.collectives = torch.cuda.Stream(), torch.cuda.Stream()
        self._left, self._right = (
            torch.randn(SIZE, SIZE, device="cuda", dtype=torch.bfloat16) for _ in range(2)
        )
        self._out = torch.empty_like(self._left)

    def multiply(self) -> Timer:
        with torch.cuda.stream(self.products), Timer(self.products) as timer:
            for _ in range(PRODUCTS if self._multiplies else 0):
                torch.matmul(self._left, self._right, out=self._out)
        return timer

    def reduce_scatters(self, shard: int, calls: int) -> Timer:
        self.calls += calls
        count, stream = ctypes.c_size_t(shard // 2), ctypes.c_void_p(self.collectives.cuda_stream)
        send, receive = (ctypes.c_void_p(tensor.data_ptr()) for tensor in self.buffers(shard))
        with Timer(self.collectives) as timer:
            for _ in range(calls):
                self._nccl.call("ncclReduceScatter", send, receive, count, BF16, SUM, self._communicator, stream)
        return timer

    def buffers(self, shard: int) -> tuple[torch.Tensor, torch.Tensor]:
        if getattr(self, "_shard", 0) != shard:
            self._shard = shard
            self._buffers = tuple(
                torch.ones(bytes_ // 2, device="cuda", dtype=torch.bfloat16)
                for bytes_ in (shard * self._ranks, shard)
            )
            torch.cuda.synchronize()
        return self._buffers

    def together(self) -> None:
        """All ranks have come here: none has the result of a reduce-scatter before."""
        self.reduce_scatters(SHARDS[0], 1)
        torch.cuda.synchronize()


def calls_alone(work: Work, shard: int) -> float:
    times = []
    for _ in range(REPEATS):
        work.together()
        timer = work.reduce_scatters(shard, TRIAL)
        torch.cuda.synchronize()
        times.append(timer.us() / TRIAL)
    return statistics.median(times)


def product_alone(work: Work, folder: str, rank: int) -> float:
    """Ranks without a product stay off the GPU meanwhile."""
    times = []
    for _ in range(2 * REPEATS):  # the first half warms up
        timer = work.multiply()
        torch.cuda.synchronize()
        times.append(timer.us())
    broadcast(folder, "product", b"measured" if rank == 0 else None)
    return statistics.median(times[REPEATS:])


def beside(work: Work, shard: int, calls: int) -> dict:
    products, collectives, outlasted = [], [], True
    for _ in range(REPEATS):
        work.together()
        scatters = work.reduce_scatters(shard, calls)
        product = work.multiply()
        torch.cuda.synchronize()
        products.append(product.us())
        collectives.append(scatters.us() / calls)
        outlasted &= product.end.elapsed_time(scatters.end) > 0
    return {
        "product_beside_us": statistics.median(products),
        "call_beside_us": statistics.median(collectives),
        "outlasted": outlasted,
    }


def measure(work: Work, folder: str, rank: int, shard: int, product_us: float) -> dict:
    call_us = calls_alone(work, shard)
    # The calls of all ranks must match: rank 0 says how many.
    calls = str(math.ceil(MARGIN * product_us / call_us)).encode() if rank == 0 else None
    calls = int(broadcast(folder, f"calls{shard}", calls))
    row = {"shard": shard, "calls": calls, "product_us": product_us, "call_us": call_us}
    return row | beside(work, shard, calls)


def main() -> None:
    folder, rank, ranks = sys.argv[1], int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    devices = int(os.environ.get("GPU_TEST_DEVICES", "1"))
    torch.cuda.set_device(rank % devices)
    nccl = Nccl(os.environ["VLLM_NCCL_SO_PATH"])
    work = Work(nccl, nccl.join(ranks, rank, folder), ranks, multiplies=rank == 0 or ranks <= devices)
    product_us = product_alone(work, folder, rank)
    rows = []
    for shard in SHARDS:
        rows.append(measure(work, folder, rank, shard, product_us))
        if rank == 0:
            print(json.dumps(rows[-1]), flush=True)
    result = {"cases": [], "calls": work.calls, "overlap": rows}
    (pathlib.Path(folder) / f"rank{rank}.json").write_text(json.dumps(result))


if __name__ == "__main__":
    main()
