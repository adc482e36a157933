"""Gathers what the benchmark steps measured into one table: a line per step, transport, series, ranks and size, with
NCCL's median, ours, how many times faster ours is, and how far the repeats lie apart."""

import json
import pathlib

_HEAD = (
    "| step | mailboxes | series | ranks | shard bytes | NCCL us | slab us | ratio | spread |\n"
    + "|---" * 9
    + "|\n"
)


def collect(work: pathlib.Path) -> list[dict]:
    """Every report of this run, with the step's folder as `step`."""
    return [{"step": path.parent.name, **json.loads(path.read_text())} for path in sorted(work.glob("*/bench.json"))]


def charts(work: pathlib.Path) -> list[pathlib.Path]:
    return sorted(work.glob("*/bench.svg"))


def table(reports: list[dict]) -> str:
    cells: dict[tuple, dict[str, dict]] = {}
    for report in reports:
        for run in report["runs"]:
            for row in run["rows"]:
                key = (report["step"], run["transport"], row["series"], run["ranks"], row["bytes"])
                cells.setdefault(key, {})[run["library"]] = row
    return _HEAD + "".join(_line(key, cells[key]) for key in sorted(cells))


def _line(key: tuple, cell: dict[str, dict]) -> str:
    nccl, slab = cell.get("NCCL"), cell.get("nccl-slab")
    medians = [f"{row['median_us']:.2f}" if row else "" for row in (nccl, slab)]
    ratio = f"{nccl['median_us'] / slab['median_us']:.2f}" if nccl and slab else ""
    return "| " + " | ".join([*map(str, key), *medians, ratio, _spread(slab)]) + " |\n"


def _spread(row: dict | None) -> str:
    """How far the slab's repeats lie apart, as part of their median."""
    return f"{(row['max_us'] - row['min_us']) / row['median_us']:.0%}" if row else ""
