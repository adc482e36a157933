"""Runs a program with a wrong NCCL preloaded and expects it to fail for the right reason.

notices.py LIBRARY WRONG_NCCL COMPLAINT PROGRAM ARGUMENT...
"""
import os
import subprocess
import sys

library, wrong, complaint, *command = sys.argv[1:]
environment = dict(os.environ, LD_PRELOAD=library, WRONG_NCCL=wrong)
result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
print(result.stdout, result.stderr)
sys.exit(0 if result.returncode == 1 and complaint in result.stdout else 1)
