"""Steps that measure: ncclReduceScatter plain and with the slab, over peer memory and over host memory. Ranks
that share a GPU measure protocol and launch cost over peer memory, and real PCIe traffic over host memory."""

import dataclasses
import itertools
import pathlib

import slab_statistics
from environment import Environment
from places import Places
from step import Step

SIZES = "4K,16K,64K,256K,1M,4M,16M"
QUICK_SIZES = "4K,256K,4M"
SEVERAL_GPUS_SIZES = "1K," + SIZES + ",64M,256M"
# What makes NCCL take the same way as the slab does.
_NCCL_WAY = {"peer": {}, "host": {"NCCL_P2P_DISABLE": "1"}}
# The slab's variants that are measured beside its own choice.
_ISLANDS = {"algo": "islands", "islands": "0,1,2,3|4,5,6,7"}


@dataclasses.dataclass(frozen=True)
class Case:
    transport: str
    ranks: int
    mode: str = "graph"
    dtype: str = "bf16"


def cases(ranks: tuple[int, ...], quick: bool) -> list[Case]:
    """The full set, and the other types where they must cost what bf16 costs."""
    modes = ("graph",) if quick else ("graph", "eager")
    found = list(itertools.starmap(Case, itertools.product(("host", "peer"), ranks, modes)))
    if not quick:
        found += [Case("host", max(ranks), dtype=dtype) for dtype in ("fp16", "fp32")]
    return found


def steps(places: Places, environment: Environment, ranks: tuple[int, ...], quick: bool) -> list[Step]:
    several = environment.devices > 1
    sizes = QUICK_SIZES if quick else SEVERAL_GPUS_SIZES if several else SIZES
    ranks = tuple(count for count in ranks if not several or count <= environment.devices) or (2,)
    planned = [Planned(places, environment, case, sizes) for case in cases(ranks, quick)]
    return [step for each in planned for step in each.steps()]


@dataclasses.dataclass
class Planned:
    places: Places
    environment: Environment
    case: Case
    sizes: str

    def steps(self) -> list[Step]:
        transport, given = self.case.transport, self.environment.given_nccl(self.case.ranks)
        slab = given | self.environment.preload(self.places.preload(), transport)
        found = [
            self._step("nccl", given | _NCCL_WAY[transport]),
            self._step("slab", slab, _slab_only),
        ]
        if self.case.ranks == 8 and self.case.mode == "graph":
            islands = given | self.environment.preload(self.places.preload(), transport, **_ISLANDS)
            found.append(self._step("islands", islands, _slab_only))
        return found

    def _step(self, label: str, variables: dict[str, str], check=None) -> Step:
        case, program = self.case, self.places.built("reduce_scatter_bench")
        options = (
            f"--ranks {case.ranks} --devices {self.environment.devices} --dtype {case.dtype} --sizes {self.sizes} "
            f"--{case.mode} --limit 85 --json {{dir}}/bench.json --label"
        )
        name = f"bench/{case.transport} n={case.ranks} {case.dtype} {case.mode} {label}"
        command = [str(program), *options.split(), f"{label} {case.transport}"]
        return Step(
            name, command, 90, variables, check, self.places.missing_for_nccl(program, "reduce_scatter_bench")
        )


def _slab_only(folder: pathlib.Path, _: str) -> list[str]:
    return slab_statistics.complaints(folder, 1)
