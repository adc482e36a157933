"""Gathers what the benchmark steps measured into one table: a line per transport, type, mode, ranks and size, with
NCCL's median, ours, our islands where they were measured, and how many times faster than NCCL our own choice is.
"""

import json
import pathlib

_COLUMNS = ("nccl", "slab", "islands")
_HEAD = (
    "| transport | type | mode | ranks | shard bytes | NCCL us | slab us | islands us | ratio | spread |\n"
    + "|---" * 10
    + "|\n"
)


def collect(work: pathlib.Path) -> list[dict]:
    """Every measurement of this run."""
    return [json.loads(path.read_text()) for path in sorted(work.glob("bench_*/bench.json"))]


def table(measurements: list[dict]) -> str:
    cells: dict[tuple, dict[str, dict]] = {}
    for measured in measurements:
        label, _, transport = measured["label"].partition(" ")
        for row in measured["rows"]:
            key = (transport, measured["dtype"], measured["mode"], measured["ranks"], row["bytes"])
            cells.setdefault(key, {})[label] = row
    return _HEAD + "".join(_line(key, cells[key]) for key in sorted(cells))


def _line(key: tuple, cell: dict[str, dict]) -> str:
    medians = {label: row["median_us"] for label, row in cell.items()}
    shown = [f"{medians[label]:.2f}" if label in medians else "" for label in _COLUMNS]
    ratio = f"{medians['nccl'] / medians['slab']:.2f}" if {"nccl", "slab"} <= medians.keys() else ""
    return "| " + " | ".join([*map(str, key), *shown, ratio, _spread(cell.get("slab"))]) + " |\n"


def _spread(row: dict | None) -> str:
    """How far the slab's repeats lie apart, as part of their median."""
    return f"{(row['max_us'] - row['min_us']) / row['median_us']:.0%}" if row else ""
