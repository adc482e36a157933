"""Steps that measure: ncclReduceScatter plain and with the slab, over peer memory and over host memory. Ranks
that share a GPU measure protocol and launch cost over peer memory, and real PCIe traffic over host memory."""

import json
import pathlib

import slab_statistics
from environment import Environment
from places import Places
from step import Step

SIZES = "4K,16K,64K,256K,1M,4M,16M"
QUICK_SIZES = "4K,256K,4M"
# What makes NCCL take the same way as the slab does.
_NCCL_WAY = {"peer": {}, "host": {"NCCL_P2P_DISABLE": "1"}}


def steps(places: Places, environment: Environment, ranks: tuple[int, ...], quick: bool) -> list[Step]:
    program = places.built("reduce_scatter_bench")
    missing = (
        "no libnccl given (--nccl DIR)"
        if places.real_nccl() is None
        else (
            "reduce_scatter_bench is not built"
            if program is None
            else "" if places.preload() else "libnccl-slab.so is not built"
        )
    )
    found = []
    for transport in ("host", "peer"):
        for count in ranks:
            for mode in ("graph",) if quick else ("graph", "eager"):
                found += _pair(
                    places,
                    environment,
                    str(program),
                    transport,
                    count,
                    mode,
                    QUICK_SIZES if quick else SIZES,
                    missing,
                )
    return found


def _pair(
    places: Places,
    environment: Environment,
    program: str,
    transport: str,
    ranks: int,
    mode: str,
    sizes: str,
    missing: str,
) -> list[Step]:
    plain = environment.given_nccl(ranks) | _NCCL_WAY[transport]
    slab = environment.given_nccl(ranks) | environment.preload(places.preload(), transport)
    pair = []
    for label, variables, check in (("nccl", plain, None), ("slab", slab, _slab_only)):
        command = [
            program,
            "--ranks",
            str(ranks),
            "--devices",
            str(environment.devices),
            "--sizes",
            sizes,
            f"--{mode}",
            "--label",
            f"{label} {transport}",
            "--json",
            "{dir}/bench.json",
            "--limit",
            "55",
        ]
        pair.append(
            Step(f"bench/{transport} n={ranks} {mode} {label}", command, 60, variables, check, missing)
        )
    return pair


def _slab_only(folder: pathlib.Path, _: str) -> list[str]:
    return slab_statistics.complaints(folder, 1)


def collect(work: pathlib.Path) -> list[dict]:
    """Every measurement of this run."""
    return [json.loads(path.read_text()) for path in sorted(work.glob("bench_*/bench.json"))]


def table(measurements: list[dict]) -> str:
    """One line per transport, mode, ranks and size: NCCL's median, ours, and how many times faster ours is."""
    cells: dict[tuple, dict[str, float]] = {}
    for measured in measurements:
        label, _, transport = measured["label"].partition(" ")
        for row in measured["rows"]:
            key = (transport, measured["dtype"], measured["mode"], measured["ranks"], row["bytes"])
            cells.setdefault(key, {})[label] = row["median_us"]
    lines = [
        "| transport | type | mode | ranks | shard bytes | NCCL us | slab us | ratio |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for key, cell in sorted(cells.items()):
        nccl, slab = cell.get("nccl"), cell.get("slab")
        ratio = f"{nccl / slab:.2f}" if nccl and slab else ""
        shown = [f"{value:.2f}" if value else "" for value in (nccl, slab)]
        lines.append("| " + " | ".join([*map(str, key), *shown, ratio]) + " |")
    return "\n".join(lines) + "\n"
