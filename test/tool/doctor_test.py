"""nccl-slab doctor on emulated machines: what it says of good ones, and that it finds what is broken.

usage: doctor_test.py TOOL
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "ranks"))
from tap import Report  # pylint: disable=wrong-import-position

TOOL = sys.argv[1]


def doctor(machine, faults="", options=("--json",), variables=None):
    """The exit status, the report (text if not JSON) and what it said while it measured."""
    with tempfile.TemporaryDirectory(prefix="nccl-slab-doctor-") as folder:
        environment = {**os.environ, "NCCL_SLAB_MACHINE": machine, "NCCL_SLAB_MACHINE_FAULTS": faults,
                       "NCCL_SLAB_MACHINE_STATE": folder + "/links", **(variables or {})}
        ran = subprocess.run([TOOL, "doctor", *options], env=environment, capture_output=True, text=True, timeout=100, check=False)
    return ran.returncode, json.loads(ran.stdout) if "--json" in options else ran.stdout, ran.stderr


def pair(report, source, owner):
    return next(each for each in report["pairs"] if (each["from"], each["to"]) == (source, owner))


def broken(report):
    return [finding["text"] for finding in report["findings"] if finding["broken"]]


def good_machine(report):
    status, found, said = doctor("4-switch")
    problems = [] if status == 0 and found["healthy"] and not broken(found) else [f"exit status {status}: {broken(found)}"]
    problems += [] if len(found["pairs"]) == 12 and all(each["peer"]["whole"] and each["host"]["whole"] for each in found["pairs"]) \
        else [str(found["pairs"])]
    rates = [each[way][figure] for each in found["pairs"] for way in ("peer", "host") for figure in ("gigabytes", "stored_gigabytes", "microseconds")]
    problems += [] if all(rate and rate > 0 for rate in rates) else [str(rates)]
    problems += [] if found["library"]["slab"] and "GPU memory" in found["library"]["text"] else [str(found["library"])]
    problems += [] if "pair 0 -> 1" in said else [said]
    report.check("a good machine is whole, measured, and served", problems)


def text(report):
    status, found, _ = doctor("8-4+4", options=())
    wanted = ["gpus:", "peer memory (", "host memory (", "islands: {0,1,2,3}{4,5,6,7}", "the library: uses the slab", "result: nothing is broken"]
    report.check("the report as text", [f"lacks {word}" for word in wanted if word not in found] + ([] if status == 0 else [found]))


def faults(report):
    for fault, word in (("drop 1->0", "loses or damages"), ("mirror 1->0", "loses or damages"), ("corrupt 1->0 from=4KiB", "loses or damages"),
                        ("ipc-open 1->0 code=205", "cannot be mapped")):
        status, found, _ = doctor("4-switch", f"fault {fault}")
        named = [each for each in broken(found) if "GPU 1 -> 0" in each and word in each]
        others = [each for each in broken(found) if "GPU 1 -> 0" not in each]
        right = status == 1 and not found["healthy"] and named and not others
        served = found["library"]["slab"] and "host memory" in found["library"]["text"] and pair(found, 1, 0)["host"]["whole"]
        report.check(fault, ([] if right else [f"exit status {status}", *broken(found)]) + ([] if served else [str(found["library"])]))


def odd_machines(report):
    status, found, _ = doctor("4-no-p2p")
    noted = any("no peer access between any" in finding["text"] for finding in found["findings"])
    report.check("no peer access is no fault", [] if status == 0 and noted else [f"exit status {status}", str(found["findings"])])
    status, found, _ = doctor("4-switch", variables={"CUDA_VISIBLE_DEVICES": "2"})
    alone = found["pairs"] == [] and found["library"] is None and found["gpus"][0]["host_write_gigabytes"] and found["gpus"][0]["host_stored_gigabytes"]
    report.check("one GPU", [] if status == 0 and alone else [f"exit status {status}", str(found)])
    status, found, _ = doctor("4-switch", "fault host-register 3 code=712")
    report.check("host memory cannot be registered", [] if status == 1 and "host memory" in str(broken(found)) else [str(found)])
    status, found, _ = doctor("nowhere")
    report.check("no machine", [] if status == 1 and broken(found) else [str(found)])
    status, found, _ = doctor("nowhere", options=())
    whole = "islands: unknown" in found and "ordered 4+4: no, the islands are unknown\n" in found
    report.check("no machine, as text", [] if status == 1 and whole else [found])


def main():
    report = Report()
    for check in (good_machine, text, faults, odd_machines):
        check(report)
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
