"""reduce_scatter_tensor in three types, sum and average, whole and random numbers, odd sizes, in place, and
replayed from a graph. Usage: under launch.py, with the folder for the results."""

import torch
import torch.distributed as dist

from torch_rank import Rank, run

TYPES = (torch.bfloat16, torch.float16, torch.float32)
COUNTS = (1, 7, 1000, 12293, 1 << 18, (1 << 20) + 3)
OPERATIONS = (dist.ReduceOp.SUM, dist.ReduceOp.AVG)


def scale(rank: Rank, operation) -> float:
    return 1.0 / rank.ranks if operation == dist.ReduceOp.AVG else 1.0


def record(rank: Rank, name: str, output: torch.Tensor, inputs: torch.Tensor, operation, whole: bool) -> None:
    """An average of whole numbers is exact only when the number of ranks is a power of two."""
    if whole and (operation == dist.ReduceOp.SUM or rank.ranks & (rank.ranks - 1) == 0):
        rank.results.exact(name, output)
    else:
        rank.results.summed(name, output, rank.own_columns(inputs) * scale(rank, operation))


def one_call(rank: Rank, count: int, dtype: torch.dtype, operation, whole: bool, in_place: bool) -> None:
    inputs = rank.contributions(count, dtype, seed=count, whole=whole)
    mine = inputs[rank.rank].clone()
    first = rank.rank * count
    output = (
        mine[first : first + count]
        if in_place
        else torch.full((count,), float("nan"), dtype=dtype, device=rank.device)
    )
    dist.reduce_scatter_tensor(output, mine, op=operation)
    rank.results.calls += 1
    name = f"{dtype} {count} {operation} whole={whole} in_place={in_place}"
    record(rank, name, output, inputs, operation, whole)
    if not in_place:
        rank.results.exact(f"{name} input", mine)  # the send buffer must not change


def replays(rank: Rank, count: int, dtype: torch.dtype) -> None:
    """Inputs change between replays, and an eager call comes between two of them."""
    static = torch.zeros(rank.ranks * count, dtype=dtype, device=rank.device)
    output = torch.zeros(count, dtype=dtype, device=rank.device)
    dist.reduce_scatter_tensor(output, static)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        dist.reduce_scatter_tensor(output, static)
    rank.results.calls += 2
    for replay in range(4):
        inputs = rank.contributions(count, dtype, seed=1000 + replay, whole=True)
        static.copy_(inputs[rank.rank])
        output.fill_(float("nan"))
        graph.replay()
        rank.results.exact(f"{dtype} {count} replay {replay}", output)
        one_call(rank, 33, dtype, dist.ReduceOp.SUM, whole=True, in_place=False)


def program(rank: Rank) -> None:
    for dtype in TYPES:
        for count in COUNTS:
            for operation in OPERATIONS:
                for whole in (True, False):
                    one_call(rank, count, dtype, operation, whole, in_place=False)
            one_call(rank, count, dtype, dist.ReduceOp.SUM, whole=True, in_place=True)
        replays(rank, 4096, dtype)


if __name__ == "__main__":
    run(program)
