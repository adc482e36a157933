"""Steps that examine the machine: `nccl-slab doctor`. Its text goes to the step's log, which the report keeps."""

import json
import pathlib
import shlex

from environment import Environment
from places import Places
from step import Step

_LEAST_GB_S = 0.5  # of host memory; less means that nothing was measured


def steps(places: Places, environment: Environment) -> list[Step]:
    tool = places.tool()
    doctor = f"{shlex.quote(str(tool))} doctor"
    if places.emulated:
        doctor = f"{shlex.quote(str(tool))} run --machine 8-4+4 --plain -- {doctor}"
    command = ["sh", "-c", f"{doctor} --json > {{dir}}/doctor.json; {doctor}"]
    missing = "" if tool else "bin/nccl-slab is not installed"
    return [Step("doctor/report", command, 240, {}, _complete(environment.devices), missing)]


def _complete(devices: int):
    def check(folder: pathlib.Path, _: str) -> list[str]:
        report = json.loads((folder / "doctor.json").read_text())
        complaints = [finding["text"] for finding in report["findings"] if finding["broken"]]
        rates = [gpu[f"host_{way}_gigabytes"] or 0 for gpu in report["gpus"] for way in ("write", "read", "stored")]
        if not rates or min(rates) < _LEAST_GB_S:
            complaints.append(f"rates of host memory: {rates}")
        gpus = len(report["gpus"])
        if gpus < devices or len(report["pairs"]) != gpus * (gpus - 1):
            complaints.append(f"{gpus} GPUs and {len(report['pairs'])} pairs")
        return complaints

    return check
