"""Prints TAP, one line per case, so that tools/test counts the cases of a job."""
import sys


class Report:
    def __init__(self):
        self.cases, self.failed = 0, 0

    def check(self, name, problems):
        """A case is good when its list of problems is empty."""
        self.cases += 1
        self.failed += bool(problems)
        print(f"{'not ok' if problems else 'ok'} {self.cases} - {name}")
        for line in "\n".join(problems).splitlines():
            print(f"# {line}")

    def skip(self, name, reason):
        self.cases += 1
        print(f"ok {self.cases} - {name} # SKIP {reason}")

    def close(self):
        """The plan, and the exit status."""
        print(f"1..{self.cases}", flush=True)
        return 1 if self.failed or not self.cases else 0


def run(scenarios):
    """Runs the scenario that the command line names, a function of a report. The exit status."""
    report = Report()
    scenarios[sys.argv[1]](report)
    return report.close()
