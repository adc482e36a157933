"""Starts the ranks of a program on this machine, as torchrun does with its variables, but so that several
ranks may share a GPU: with --separate-hosts every rank tells NCCL another host name, which lets any NCCL
version accept that (over sockets); with --first NAME=VALUE rank 0 gets a variable that the others do not. Ends all
ranks when one fails. Usage: launch.py RANKS [--separate-hosts] [--first NAME=VALUE] -- PROGRAM [ARGUMENT...]"""

import argparse
import os
import socket
import subprocess
import sys
import time


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def rank_variables(rank: int, arguments: argparse.Namespace, port: int) -> dict[str, str]:
    variables = {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(arguments.ranks),
        "LOCAL_WORLD_SIZE": str(arguments.ranks),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "GLOO_SOCKET_IFNAME": "lo",
    }
    if arguments.separate_hosts:
        variables["NCCL_HOSTID"] = f"gpu-test-{rank}"
    if arguments.first and rank == 0:
        name, _, value = arguments.first.partition("=")
        variables[name] = value
    return os.environ | variables


def wait_for(ranks: list[subprocess.Popen]) -> int:
    """0 when all succeed. The suite's limit bounds the wait."""
    waiting = list(ranks)
    while waiting:
        for rank in [rank for rank in waiting if rank.poll() is not None]:
            waiting.remove(rank)
            if rank.returncode != 0:
                for other in waiting:
                    other.kill()
                return rank.returncode
        time.sleep(0.02)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ranks", type=int)
    parser.add_argument("--separate-hosts", action="store_true")
    parser.add_argument("--first", metavar="NAME=VALUE")
    parser.add_argument("program", nargs="+")
    arguments = parser.parse_args()
    port = free_port()
    ranks = [
        subprocess.Popen(arguments.program, env=rank_variables(rank, arguments, port))
        for rank in range(arguments.ranks)
    ]
    status = wait_for(ranks)
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
