"""Counts test cases. A case is one GoogleTest case, one line of a TAP program, one other test program or one check.

Meson knows the result of a program, its JUnit file those of the cases inside. Both are read, so that a program whose
cases pass but that then dies (a sanitizer's report at exit, say) still counts as a failure.
"""
import json
import pathlib
import xml.etree.ElementTree

BAD = {"FAIL", "TIMEOUT", "ERROR", "INTERRUPT", "UNEXPECTEDPASS"}


class Tally:
    def __init__(self):
        self.passed, self.skipped, self.failures = 0, 0, []

    def add(self, name, good, skipped=False):
        if skipped:
            self.skipped += 1
        elif good:
            self.passed += 1
        else:
            self.failures.append(name)

    def add_meson_logs(self, build):
        """Adds what the last `meson test` in the folder `build` ran; label it by the folder's name."""
        label, logs = pathlib.Path(build).name, pathlib.Path(build, "meson-logs")
        blamed = set()
        for suite, case, outcome in junit_cases(logs / "testlog.junit.xml"):
            self.add(f"{label}: {suite}.{case}", outcome == "passed", outcome == "skipped")
            if outcome == "failed":
                blamed.add(suite)
        for name, result in program_results(logs / "testlog.json"):
            if result in BAD and not any(belongs(suite, name) for suite in blamed):
                self.add(f"{label}: {name} ({result.lower()})", False)

    def closing_line(self):
        line = f"{self.passed} passed, {len(self.failures)} failed"
        return line + (f", {self.skipped} skipped" if self.skipped else "")


def junit_cases(path):
    """Yields (suite, case, "passed" | "failed" | "skipped"); disabled GoogleTest cases are left out."""
    for suite in xml.etree.ElementTree.parse(path).getroot().iter("testsuite"):
        for case in suite.iter("testcase"):
            if case.get("status") == "notrun":
                continue
            single = suite.get("name") == case.get("classname") and "." not in suite.get("name")
            name = case.get("name") if single else suite.get("name")
            yield name, case.get("name"), outcome_of(case)


def outcome_of(case):
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    return "skipped" if case.find("skipped") is not None else "passed"


def program_results(path):
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            program = json.loads(line)
            yield program["name"], program["result"]


def belongs(suite, program):
    """Meson names a suite PROJECT.PROGRAM for a TAP program and PROJECT.PROGRAM.SUITE for GoogleTest."""
    return suite == program or f"{suite.partition('.')[2]}.".startswith(f"{program}.")
