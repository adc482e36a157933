"""The reduction loop of optimizers that partition gradients: a stream of its own, two flat buffers filled in
turn while the other is being reduced, contributions divided beforehand, and every so often a second
communicator in between. Whole numbers. Usage: under launch.py, with the folder for the results."""

import torch
import torch.distributed as dist

from torch_rank import Rank, run

ITERATIONS = 60
COUNT = 50_003
CHECK_EVERY = 5


def fill(buffer: torch.Tensor, rank: Rank, iteration: int) -> None:
    """Multiples of eight, so that the division before the sum is exact."""
    source = torch.Generator(rank.device).manual_seed(iteration * 100 + rank.rank)
    buffer.copy_(torch.randint(-4, 5, buffer.shape, generator=source, device=rank.device) * 8)


def loop(rank: Rank, group: dist.ProcessGroup, other: dist.ProcessGroup) -> None:
    buffers = [torch.empty(COUNT * rank.ranks, dtype=torch.bfloat16, device=rank.device) for _ in range(2)]
    shards = [torch.empty(COUNT, dtype=torch.bfloat16, device=rank.device) for _ in range(2)]
    reduced = [torch.cuda.Event() for _ in range(2)]
    reduction = torch.cuda.Stream(rank.device)
    for iteration in range(ITERATIONS):
        buffer, shard = buffers[iteration % 2], shards[iteration % 2]
        reduced[iteration % 2].wait()  # for this buffer's last reduction; the other buffer's may still run
        fill(buffer, rank, iteration)
        reduction.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(reduction):
            buffer.div_(8)
            shard.fill_(float("nan"))
            dist.reduce_scatter_tensor(shard, buffer, group=other if iteration % 7 == 6 else group)
            rank.results.calls += 1
            if iteration % CHECK_EVERY == 0:
                rank.results.exact(f"iteration {iteration}", shard)
            reduced[iteration % 2].record()


def list_form(rank: Rank) -> None:
    """reduce_scatter with a list of equal tensors: PyTorch flattens it into one call."""
    inputs = rank.contributions(1001, torch.float32, seed=7, whole=True)[rank.rank]
    shard = torch.empty(1001, device=rank.device)
    dist.reduce_scatter(shard, [part.contiguous() for part in inputs.chunk(rank.ranks)])
    rank.results.calls += 1
    rank.results.exact("list", shard)


def program(rank: Rank) -> None:
    other = dist.new_group(list(range(rank.ranks)))
    loop(rank, dist.group.WORLD, other)
    list_form(rank)


if __name__ == "__main__":
    run(program)
