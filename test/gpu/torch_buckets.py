"""Gradient buckets as data-parallel training reduces them: DDP itself (all-reduce, which the slab leaves to
NCCL), sharded buckets reduced asynchronously while others are being filled, and a coalesced group of
reductions. All numbers are whole. Usage: under launch.py, with the folder for the results."""

import torch
import torch.distributed as dist
from torch import nn

from torch_rank import Rank, run

BUCKETS = (4096, 12293, 65536, 7, 262144)


def ddp_step(rank: Rank) -> None:
    model = nn.Sequential(*(nn.Linear(32, 32, bias=False) for _ in range(3))).to(rank.device)
    with torch.no_grad():
        for number, parameter in enumerate(model.parameters()):
            parameter.fill_(float(number % 2 + 1))
    wrapped = nn.parallel.DistributedDataParallel(model, bucket_cap_mb=0.004, gradient_as_bucket_view=True)
    source = torch.Generator(rank.device).manual_seed(20 + rank.rank)
    wrapped(torch.randint(-1, 2, (4, 32), generator=source, device=rank.device).float()).sum().backward()
    for number, parameter in enumerate(model.parameters()):
        rank.results.exact(f"ddp gradient {number}", parameter.grad)


def sharded_buckets(rank: Rank, dtype: torch.dtype, iteration: int) -> None:
    """Every bucket is in flight before the first is waited for; the shards are gathered again, as ZeRO does."""
    inputs = [
        rank.contributions(count, dtype, seed=iteration * 10 + number, whole=True)[rank.rank]
        for number, count in enumerate(BUCKETS)
    ]
    shards = [torch.full((count,), float("nan"), dtype=dtype, device=rank.device) for count in BUCKETS]
    works = [
        dist.reduce_scatter_tensor(shard, source, async_op=True) for shard, source in zip(shards, inputs)
    ]
    rank.results.calls += len(works)
    for number, (work, shard) in enumerate(zip(works, shards)):
        work.wait()
        gathered = torch.empty(shard.numel() * rank.ranks, dtype=dtype, device=rank.device)
        dist.all_gather_into_tensor(gathered, shard)
        rank.results.exact(f"{dtype} iteration {iteration} bucket {number}", gathered)


def coalesced(rank: Rank) -> None:
    inputs = [
        rank.contributions(count, torch.bfloat16, seed=500 + count, whole=True)[rank.rank]
        for count in BUCKETS
    ]
    shards = [
        torch.full((count,), float("nan"), dtype=torch.bfloat16, device=rank.device) for count in BUCKETS
    ]
    with dist._coalescing_manager(device=rank.device):
        for shard, source in zip(shards, inputs):
            dist.reduce_scatter_tensor(shard, source)
    rank.results.calls += len(BUCKETS)
    for count, shard in zip(BUCKETS, shards):
        rank.results.exact(f"coalesced {count}", shard)


def program(rank: Rank) -> None:
    ddp_step(rank)
    for dtype in (torch.bfloat16, torch.float32):
        for iteration in range(5):
            sharded_buckets(rank, dtype, iteration)
    coalesced(rank)


if __name__ == "__main__":
    run(program)
