"""Reads the times that nccl-tests print, in the form of `nccl-slab bench --json`: a run with rows. They are means of
eager calls back to back, of one process."""

import re

# Bytes, elements, type, operation and root; then out of place and in place each: microseconds, two rates, wrong elements.
_LINE = re.compile(r"^\s*(\d+)\s+\d+\s+(\w+)\s+\w+\s+-?\d+\s+([\d.]+)\s+\S+\s+\S+\s+\S+\s+([\d.]+)\s", re.MULTILINE)
_SHORT = {"bfloat16": "bf16", "half": "fp16", "float": "fp32"}


def run(log: str, library: str, transport: str, ranks: int) -> dict:
    rows = []
    for size, kind, out_of_place, in_place in _LINE.findall(log):
        for place, time in (("out", out_of_place), ("in", in_place)):
            time_us = float(time)
            rows.append(
                {
                    "series": f"{_SHORT.get(kind, kind)}/eager/{place}",
                    "bytes": int(size) // ranks,
                    "median_us": time_us,
                    "min_us": time_us,
                    "max_us": time_us,
                }
            )
    return {"library": library, "transport": transport, "ranks": ranks, "rows": rows}
