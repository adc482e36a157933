"""Steps that measure: `nccl-slab bench`, ncclReduceScatter plain and with the slab, over peer memory and over host
memory. Ranks that share a GPU measure protocol and launch cost over peer memory, and real PCIe traffic over host memory."""

import dataclasses
import json
import pathlib
import shlex

import slab_statistics
from environment import Environment
from places import Places
from step import Step

QUICK_SIZES = "4K,256K,4M"
SERIES_SIZES = "4K,64K,1M,16M"
_ISLANDS = {"NCCL_SLAB_ISLANDS": "0,1,2,3|4,5,6,7"}
_GRACE_S = 90  # beyond a step's budget: the ranks' starts, and sizes that took longer than expected


def steps(places: Places, environment: Environment, ranks: tuple[int, ...], quick: bool) -> list[Step]:
    several = environment.devices > 1
    fitting = [count for count in ranks if not several or count <= environment.devices] or [2]
    most, listed = str(max(fitting)), ",".join(map(str, fitting))
    plan = Plan(places, environment)
    if quick:
        return [*host_cost(places, environment), plan.step("tables", 100, "--tables", "--ranks", listed, "--sizes", QUICK_SIZES)]
    found = [*host_cost(places, environment), plan.step("tables", 240, "--tables", "--ranks", listed)]
    for transport in ("host", "peer"):
        where = ("--transport", transport, "--ranks", most, "--sizes", SERIES_SIZES)
        found.append(plan.step(f"{transport} n={most} series", 120, *where))
        if most == "8":
            only = ("--without-nccl", "--dtype", "bf16", "--mode", "graph", "--place", "out")
            found.append(plan.step(f"{transport} n=8 islands", 60, *where, *only, variables=_ISLANDS))
        found.append(plan.tuned_step(f"{transport} n={most} tuned", 200, *where))
    return found


def host_cost(places: Places, environment: Environment) -> list[Step]:
    """Nanoseconds of host time per call: NCCL alone, under the preload, and behind the drop-in. The log has the table."""
    program = places.built("host_cost")
    missing = places.missing_for_nccl(program, "host_cost")
    options = ["--same-device"] if environment.devices == 1 else []
    rounds = "2" if places.emulated else "200"
    command = [str(program), "--ranks", "2", "--limit", "50", "--rounds", rounds, *options]
    plain = environment.given_nccl(2)
    drop_in = environment.preload(places.drop_in(), nccl_lib=str(places.real_nccl()))
    ways = {"plain": ({}, None), "slab": (environment.preload(places.preload()), taken), "drop-in": (drop_in, taken)}
    return [
        Step(f"bench/host_cost {name}", command, 60, plain | variables, check, missing)
        for name, (variables, check) in ways.items()
    ]


def taken(folder: pathlib.Path, _: str) -> list[str]:
    return slab_statistics.complaints(folder, 1)


class Plan:
    def __init__(self, places: Places, environment: Environment, group: str = "bench"):
        self._places = places
        self._environment = environment
        self._group = group

    def tuned_step(self, name: str, budget_s: int, *options: str) -> Step:
        """Tunes, and then measures with the table and NCCL beside it."""
        measured = self.step(name, budget_s // 4, *options, "--dtype", "bf16", "--mode", "graph", "--place", "out")
        machine = measured.command[2:4]
        tune = [measured.command[0], "tune", *machine, "--budget", str(budget_s // 2), *options, "--file", "{dir}/table"]
        script = f"{shlex.join(tune)} && cat {{dir}}/table && NCCL_SLAB_TUNE_FILE={{dir}}/table {shlex.join(measured.command)}"
        return dataclasses.replace(measured, command=["sh", "-c", script], limit_s=budget_s + _GRACE_S)

    def step(self, name: str, budget_s: int, *options: str, variables: dict[str, str] | None = None) -> Step:
        tool = self._places.tool()
        machine = ["--machine", "8-4+4"] if self._places.emulated else ["--devices", str(self._environment.devices)]
        command = [str(tool), "bench", *machine, "--budget", str(budget_s), *options]
        command += ["--json", "{dir}/bench.json", "--svg", "{dir}/bench.svg"]
        missing = self._places.missing_for_nccl(tool, "bin/nccl-slab")
        # How many channels NCCL may use where ranks share a GPU is the benchmark's business.
        given = self._environment.given_nccl(1) | (variables or {})
        if self._environment.devices > 1:  # also where NVLink joins them, which is NCCL's by default
            given["NCCL_SLAB_FORCE"] = "1"
        if self._places.emulated:  # on few cores eight ranks need their time
            given["NCCL_SLAB_SETUP_TIMEOUT"] = "60000"
        return Step(f"{self._group}/{name}", command, budget_s + _GRACE_S, given, _slab_only, missing)


def _slab_only(folder: pathlib.Path, _: str) -> list[str]:
    """With the slab every call must be the slab's."""
    ours = [run for run in json.loads((folder / "bench.json").read_text())["runs"] if run["library"] == "nccl-slab"]
    rows = [row for run in ours for row in run["rows"]]
    forwarded = [f"{row['series']} {row['bytes']}" for row in rows if row["by"] != "slab"]
    return ([] if rows else ["nothing was measured"]) + [f"forwarded: {text}" for text in forwarded[:3]]
