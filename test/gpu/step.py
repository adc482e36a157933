"""Step and Outcome: what the GPU suite runs and what came of it. Plain values; the plan makes steps, the
runner outcomes."""

import dataclasses
import pathlib
from typing import Callable


@dataclasses.dataclass
class Outcome:
    """`state` is passed, failed or skipped; `reason` is one line, empty for passed."""

    name: str
    state: str
    reason: str = ""
    seconds: float = 0.0


# Looks at a finished step's folder and log; returns complaints, none when all is well.
Check = Callable[[pathlib.Path, str], list[str]]


@dataclasses.dataclass
class Step:
    """One command with a hard limit. `{dir}` in its arguments and variables is the folder that the step
    may fill."""

    name: str
    command: list[str]
    limit_s: int
    variables: dict[str, str] = dataclasses.field(default_factory=dict)
    check: Check | None = None
    missing: str = ""  # why it cannot run here; then it is skipped
    own_gpu_access: bool = False  # runs beside MPS, not through it

    @property
    def folder(self) -> str:
        """A file name made of the step's name."""
        return "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in self.name)


def skipped(step: Step, reason: str) -> Outcome:
    return Outcome(step.name, "skipped", reason)
