"""FSDP2 training steps: a linear model over whole numbers, whose gradients any right reduction gets bit for
bit, and an MLP in mixed precision, compared with the same model trained unsharded. Each with FSDP2's default
(average) and with sum forced. Usage: under launch.py, with the folder for the results."""

import torch
from torch import nn
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

from torch_rank import Rank, run

LAYERS = 3
WIDTH = 64
STEPS = 3
BATCH = 4
# Of a parameter's largest update: bf16 activations cost a few percent, a wrong reduction all of it.
TOLERANCE = 0.1


def whole_model(device: torch.device) -> nn.Module:
    model = nn.Sequential(*(nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(LAYERS))).to(device)
    source = torch.Generator(device).manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randint(-1, 2, parameter.shape, generator=source, device=device))
    return model


def real_model(device: torch.device) -> nn.Module:
    torch.manual_seed(2)
    layers = [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU()) for _ in range(LAYERS)]
    return nn.Sequential(*layers).to(device)


def shard(model: nn.Module, policy: MixedPrecisionPolicy, force_sum: bool) -> nn.Module:
    for layer in model:
        fully_shard(layer, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    if force_sum:
        for module in [model, *model]:
            module.set_force_sum_reduction_for_comms(True)
    return model


def whole_steps(rank: Rank, force_sum: bool) -> None:
    """One step: the updated weights would no longer be whole numbers small enough for a second one."""
    torch.backends.cuda.matmul.allow_tf32 = False
    model = shard(whole_model(rank.device), MixedPrecisionPolicy(), force_sum)
    source = torch.Generator(rank.device).manual_seed(10 + rank.rank)
    batch = torch.randint(-1, 2, (BATCH, WIDTH), generator=source, device=rank.device).float()
    model(batch).sum().backward()
    rank.results.calls += LAYERS
    for number, parameter in enumerate(model.parameters()):
        rank.results.exact(f"whole sum={force_sum} gradient {number}", parameter.grad.to_local())


def batches(rank: Rank, step: int) -> torch.Tensor:
    source = torch.Generator(rank.device).manual_seed(100 + step)
    return torch.randn((rank.ranks, BATCH, WIDTH), generator=source, device=rank.device)


def train(model: nn.Module, inputs: list[torch.Tensor]) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in inputs:
        optimizer.zero_grad()
        model(batch).float().pow(2).sum().div(len(batch)).backward()
        optimizer.step()


def real_steps(rank: Rank, reduce_type: torch.dtype, force_sum: bool) -> None:
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=reduce_type)
    sharded = shard(real_model(rank.device), policy, force_sum)
    train(sharded, [batches(rank, step)[rank.rank].bfloat16() for step in range(STEPS)])
    rank.results.calls += LAYERS * STEPS
    reference = real_model(rank.device).double()
    train(reference, [batches(rank, step).flatten(0, 1).double() for step in range(STEPS)])
    initial = real_model(rank.device).double()
    parameters = zip(sharded.named_parameters(), reference.parameters(), initial.parameters())
    for (name, trained), wanted, before in parameters:
        bound = TOLERANCE * (wanted - before).abs().max().item()
        result = trained.full_tensor().detach()
        rank.results.near(f"{reduce_type} sum={force_sum} {name}", result, wanted.detach(), bound)


def program(rank: Rank) -> None:
    for force_sum in (False, True):
        whole_steps(rank, force_sum)
        for reduce_type in (torch.float32, torch.bfloat16):
            real_steps(rank, reduce_type, force_sum)


if __name__ == "__main__":
    run(program)
