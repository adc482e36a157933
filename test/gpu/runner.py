"""Runs steps one after another. A step that outlives its limit is killed with all that it started, MPS is
restarted, and the next step runs. Nothing that a step does stops the suite."""

import os
import pathlib
import re
import shutil
import subprocess
import time

from mps import PROCESS_NAME, Mps
from processes import adopt_orphans, descendants, end_all
from step import Outcome, Step, skipped


class Runner:
    """`work` gets one folder and one log per step; `deadline` (monotonic seconds) ends the suite early
    but tidily."""

    def __init__(self, work: pathlib.Path, mps: Mps, deadline: float):
        self._work = work
        self._mps = mps
        self._deadline = deadline
        self._others: set[int] = set()  # processes that are not ours to end

    def __enter__(self):
        adopt_orphans()
        self._others = descendants()
        self._mps.start()
        return self

    def __exit__(self, *_):
        self._mps.stop()
        end_all(self._others)

    def run(self, step: Step) -> Outcome:
        if step.missing:
            return skipped(step, step.missing)
        if time.monotonic() + min(step.limit_s, 10) > self._deadline:
            return skipped(step, "no time left")
        folder = self._fresh_folder(step)
        began = time.monotonic()
        status = self._execute(step, folder)
        outcome = self._judge(step, folder, status)
        outcome.seconds = time.monotonic() - began
        self._clean_up(outcome, status)
        return outcome

    def log_path(self, step: Step) -> pathlib.Path:
        return self._work / f"{step.folder}.log"

    def _fresh_folder(self, step: Step) -> pathlib.Path:
        folder = self._work / step.folder
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

    def _execute(self, step: Step, folder: pathlib.Path) -> int | None:
        """The exit status, negative for a signal; None when the limit ended it."""
        fill = lambda text: text.replace("{dir}", str(folder))
        variables = os.environ | ({} if step.own_gpu_access else self._mps.variables())
        variables |= {name: fill(value) for name, value in step.variables.items()}
        limit = min(step.limit_s, max(1.0, self._deadline - time.monotonic()))
        with open(self.log_path(step), "wb") as log:
            log.write(f"# {' '.join(map(fill, step.command))}\n".encode())
            for name, value in sorted(step.variables.items()):
                log.write(f"# {name}={fill(value)}\n".encode())
            log.flush()
            try:
                child = subprocess.Popen(
                    [fill(word) for word in step.command],
                    env=variables,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    stdin=subprocess.DEVNULL,
                )
            except OSError as error:
                log.write(f"{error}\n".encode())
                return 127
            try:
                return child.wait(limit)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
                return None

    def _judge(self, step: Step, folder: pathlib.Path, status: int | None) -> Outcome:
        if status is None:
            return Outcome(step.name, "failed", f"killed after {step.limit_s} s")
        if status == 77:
            return skipped(step, self._telling_line(step))
        if status != 0:
            return Outcome(step.name, "failed", f"exit status {status}: {self._telling_line(step)}")
        log = self.log_path(step).read_text(errors="replace")
        try:
            complaints = step.check(folder, log) if step.check else []
        except (OSError, ValueError, KeyError, TypeError) as error:
            complaints = [f"result not readable: {error!r}"]
        return Outcome(step.name, "failed" if complaints else "passed", "; ".join(complaints))

    def _clean_up(self, outcome: Outcome, status: int | None) -> None:
        left_behind = end_all(self._others, spared=PROCESS_NAME)
        if left_behind and outcome.state == "passed":
            outcome.state, outcome.reason = "failed", f"left {left_behind} processes behind"
        if left_behind or status is None or status < 0:
            self._mps.stop()
            end_all(self._others)
            self._mps.start()

    def _telling_line(self, step: Step) -> str:
        """The first that speaks of a failure, else the last."""
        text = self.log_path(step).read_text(errors="replace")
        lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
        telling = [line for line in lines if re.search("FAILED|[Ee]rror", line)] or lines[-1:]
        return telling[0].strip()[:200] if telling else ""
