"""Hands bytes from rank 0 to the other ranks through a file, for programs that bring no store of their own."""

import os
import pathlib
import time

_LIMIT_S = 60


def broadcast(folder: str, name: str, payload: bytes | None) -> bytes:
    """Rank 0 brings the payload, the others None."""
    path = pathlib.Path(folder) / f"exchange.{name}"
    if payload is not None:
        part = path.with_suffix(".part")
        part.write_bytes(payload)
        os.replace(part, path)
        return payload
    end = time.monotonic() + _LIMIT_S
    while not path.exists():
        if time.monotonic() > end:
            raise TimeoutError(f"rank 0 did not write {path}")
        time.sleep(0.01)
    return path.read_bytes()
