"""What every PyTorch test program does first and last: join the group that launch.py described, pick the
device, save the results. The programs know nothing of the slab."""

import os
import sys
from typing import Callable

import torch
import torch.distributed as dist

from results import Results


class Rank:
    def __init__(self, folder: str):
        self.rank = int(os.environ["RANK"])
        self.ranks = int(os.environ["WORLD_SIZE"])
        self.device = torch.device("cuda", self.rank % int(os.environ.get("GPU_TEST_DEVICES", "1")))
        self.results = Results(folder, self.rank)

    def contributions(self, count: int, dtype: torch.dtype, seed: int, whole: bool) -> torch.Tensor:
        """Row r is the input of rank r; every rank can make all rows. Whole numbers are small enough
        to add exactly."""
        source = torch.Generator(self.device).manual_seed(seed)
        shape = (self.ranks, self.ranks * count)
        if whole:
            return torch.randint(-8, 9, shape, generator=source, device=self.device).to(dtype)
        return torch.randn(shape, generator=source, device=self.device).to(dtype)

    def own_columns(self, contributions: torch.Tensor) -> torch.Tensor:
        """The columns that this rank's shard is the sum of, in fp64."""
        count = contributions.shape[1] // self.ranks
        return contributions[:, self.rank * count : (self.rank + 1) * count].double()


def run(program: Callable[[Rank], None]) -> None:
    rank = Rank(sys.argv[1])
    torch.cuda.set_device(rank.device)
    dist.init_process_group("nccl", rank=rank.rank, world_size=rank.ranks, device_id=rank.device)
    program(rank)
    torch.cuda.synchronize()
    dist.barrier()
    rank.results.save()
    dist.destroy_process_group()
