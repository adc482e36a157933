"""Runs the questions on the emulated machine and compares the answers with those that a GPU gave (answers.txt).

usage: compare.py QUESTIONS ANSWERS. Every difference is printed with the question it belongs to.
"""

import difflib
import subprocess
import sys


def main() -> int:
    program, answers = sys.argv[1:]
    run = subprocess.run([program], capture_output=True, text=True, timeout=240, check=False)
    with open(answers, encoding="utf-8") as file:
        expected = file.read().splitlines()
    given = run.stdout.splitlines()
    question = ""
    differences = 0
    for line in difflib.ndiff(expected, given):
        mark, text = line[0], line[2:]
        if not text.startswith(" "):
            question = text
        if mark in "-+":
            differences += 1
            print(f"{question}: {'the GPU' if mark == '-' else 'emulated'}: {text.strip()}")
    print(f"{len(expected)} lines, {differences} differences")
    return 1 if differences or run.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
