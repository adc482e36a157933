"""Steps that run a matrix product beside reduce-scatters, with NCCL alone and with the slab: the product must take no longer
beside ours. Only GPUs of their own show that: ranks that share one leave NCCL its memory instead of a link, and the times
are then reported alone."""

import pathlib

import slab_statistics
from comparison import read_results
from environment import Environment
from places import Places
from plan_python import launch, missing_module
from step import Step

RANKS = 2
SLACK = 1.05  # times differ by so much from run to run


def steps(places: Places, environment: Environment) -> list[Step]:
    real, drop_in = places.real_nccl(), places.drop_in()
    missing = missing_module("torch") or ("" if real and drop_in else "no libnccl given (--nccl DIR), or ours not built")
    command = launch("torch_overlap", RANKS, separate_hosts=False)
    plain = environment.given_nccl(RANKS) | {"VLLM_NCCL_SO_PATH": str(real), "NCCL_P2P_DISABLE": "1"}
    before = Step("overlap/product plain", command, limit_s=100, variables=plain, missing=missing)
    found = [before]
    for transport in ("host", "peer"):
        ours = environment.preload(drop_in, transport, nccl_lib=str(real)) | {"VLLM_NCCL_SO_PATH": str(drop_in)}
        del ours["LD_PRELOAD"]  # PyTorch keeps the NCCL that it brings
        check = comparison(before.folder, environment.devices >= RANKS and transport == "host")
        name = f"overlap/product {transport} slab"
        found.append(Step(name, command, 100, environment.given_nccl(RANKS) | ours, check, missing))
    return found


def comparison(before: str, comparable: bool):
    def check(folder: pathlib.Path, _: str) -> list[str]:
        ours, theirs = read_results(folder), read_results(folder.parent / before)
        found = slab_statistics.complaints(folder, sum(result["calls"] for result in ours.values()))
        if 0 not in ours or 0 not in theirs:
            return [*found, "no times"]
        pairs = list(zip(ours[0]["overlap"], theirs[0]["overlap"]))
        found += [f"{row['shard']} bytes: the reduce-scatters ended first" for row, _ in pairs if not row["outlasted"]]
        return found + ([text for pair in pairs if (text := complaint(*pair))] if comparable else [])

    return check


def complaint(ours: dict, theirs: dict) -> str:
    mine, other = ours["product_beside_us"], theirs["product_beside_us"]
    if mine <= other * SLACK:
        return ""
    return f"{ours['shard']} bytes: the product takes {mine:.0f} us beside ours, {other:.0f} us beside NCCL's"
