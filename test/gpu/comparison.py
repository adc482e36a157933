"""Compares the results of one program run plain and with the slab. A program writes rank<r>.json: `cases`,
each with a name and either a digest (inputs are exactly summable, so any right sum has the same bits) or the
largest and the mean error against fp64 with the bound that the rounding contract gives; and `calls`, its
reduce-scatter calls that the slab should take."""

import json
import math
import pathlib

import slab_statistics

# The slab's mean error may exceed NCCL's by this factor: NCCL's ring rounds at every hop, but a socket transport of
# two ranks rounds as often as we do, and then chance decides.
MEAN_ERROR_SLACK = 1.02


def read_results(folder: pathlib.Path) -> dict[int, dict]:
    return {int(path.stem[4:]): json.loads(path.read_text()) for path in folder.glob("rank*.json")}


def compare(plain: pathlib.Path, slab: pathlib.Path, ranks: int) -> list[str]:
    """Complaints about results and statistics of the run in `slab`, given the plain run in `plain`."""
    before, after = read_results(plain), read_results(slab)
    if sorted(before) != list(range(ranks)):
        return ["no plain results to compare with"]
    if sorted(after) != list(range(ranks)):
        return [f"results of ranks {sorted(after)} only"]
    found = []
    for rank in range(ranks):
        found += compare_rank(before[rank]["cases"], after[rank]["cases"], f"rank {rank} ")
    calls = sum(result["calls"] for result in after.values())
    return found[:5] + slab_statistics.complaints(slab, calls)


def compare_rank(plain: list[dict], slab: list[dict], prefix: str) -> list[str]:
    if [case["name"] for case in plain] != [case["name"] for case in slab]:
        return [f"{prefix}ran other cases"]
    return [prefix + text for before, after in zip(plain, slab) if (text := complaint(before, after))]


def complaint(plain: dict, slab: dict) -> str:
    name = slab["name"]
    if "digest" in slab:
        return "" if plain["digest"] == slab["digest"] else f"{name}: bits differ"
    if not all(map(math.isfinite, (slab["excess"], slab["mean_error"]))):
        return f"{name}: not finite"
    if slab["excess"] > 0:
        return f"{name}: error {slab['max_error']:.3g} beyond the bound by {slab['excess']:.3g}"
    if slab["mean_counts"] and slab["mean_error"] > plain["mean_error"] * MEAN_ERROR_SLACK:
        return f"{name}: mean error {slab['mean_error']:.4g}, NCCL {plain['mean_error']:.4g}"
    return ""
