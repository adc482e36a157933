"""Runs a program that was built with ThreadSanitizer and expects it to report a data race.

reports_race.py PROGRAM ARGUMENT...
"""
import subprocess
import sys

result = subprocess.run(sys.argv[1:], capture_output=True, text=True, timeout=120, check=False)
print(result.stdout, result.stderr[:4000])
sys.exit(0 if result.returncode != 0 and "ThreadSanitizer: data race" in result.stderr else 1)
