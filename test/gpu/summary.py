"""What the suite leaves behind: few files, rewritten after every step, so that a run that is cut off still
says what it found. summary.json (outcomes), steps.log (every step's output, shortened), bench.json and
bench.md (measurements), bench_*.svg (charts)."""

import dataclasses
import json
import pathlib

import bench_table
from step import Outcome

_LOG_LIMIT = 24_000  # characters of one step's log; its beginning and its end
_DETAIL_LIMIT = 3_000  # of each of the slab's logs and statistics, for a step that failed


class Summary:
    def __init__(self, out: pathlib.Path, work: pathlib.Path):
        self.outcomes: list[Outcome] = []
        self._out = out
        self._work = work
        out.mkdir(parents=True, exist_ok=True)
        (out / "steps.log").write_text("")

    def add(self, outcome: Outcome, log: pathlib.Path) -> None:
        self.outcomes.append(outcome)
        print(_line(outcome), flush=True)
        self._append_log(outcome, log)
        self._write(
            "summary.json", json.dumps([dataclasses.asdict(each) for each in self.outcomes], indent=1)
        )
        measurements = bench_table.collect(self._work)
        if measurements:
            self._write("bench.json", json.dumps(measurements))
            self._write("bench.md", bench_table.table(measurements))
            for chart in bench_table.charts(self._work):
                self._write(f"{chart.parent.name}.svg", chart.read_text())

    def counts(self) -> dict[str, int]:
        return {
            state: sum(outcome.state == state for outcome in self.outcomes)
            for state in ("passed", "failed", "skipped")
        }

    def _append_log(self, outcome: Outcome, log: pathlib.Path) -> None:
        if outcome.state == "skipped" or not log.exists():
            return
        text = f"==== {_line(outcome)}\n{_shortened(log, _LOG_LIMIT)}\n"
        if outcome.state == "failed":
            text += "".join(f"== {path.name}\n{_shortened(path, _DETAIL_LIMIT)}\n" for path in _details(log))
        with open(self._out / "steps.log", "a") as steps:
            steps.write(text)

    def _write(self, name: str, text: str) -> None:
        part = self._out / f".{name}"
        part.write_text(text)
        part.replace(self._out / name)


def _line(outcome: Outcome) -> str:
    return f"{outcome.state:8} {outcome.seconds:6.1f} s  {outcome.name}" + (
        f"  ({outcome.reason})" if outcome.reason else ""
    )


def _details(log: pathlib.Path) -> list[pathlib.Path]:
    """What the slab wrote into the step's folder."""
    folder = log.with_suffix("")
    return [*sorted(folder.glob("slab.*.log")), *sorted(folder.glob("stats.*.json"))]


def _shortened(path: pathlib.Path, limit: int) -> str:
    text = path.read_text(errors="replace")
    return text if len(text) <= limit else text[: limit // 3] + "\n[...]\n" + text[-limit * 2 // 3 :]
