"""CuPy's own NCCL binding. Says "skipped" (status 77) where CuPy is not installed.
Usage: under launch.py, with the folder for the results."""

import hashlib
import json
import os
import pathlib
import pickle
import sys

from exchange import broadcast

try:
    import cupy
    from cupy.cuda import nccl
except ImportError as error:
    print(f"no CuPy with NCCL: {error}")
    sys.exit(77)

COUNTS = (1, 1000, 65537)


def reduce_scatter(communicator, rank: int, ranks: int, count: int) -> dict:
    values = cupy.random.RandomState(count * 100 + rank).randint(-8, 9, ranks * count).astype(cupy.float32)
    shard = cupy.full(count, cupy.nan, dtype=cupy.float32)
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    communicator.reduceScatter(
        values.data.ptr, shard.data.ptr, count, nccl.NCCL_FLOAT32, nccl.NCCL_SUM, stream.ptr
    )
    stream.synchronize()
    return {"name": f"cupy {count}", "digest": hashlib.sha256(shard.get().tobytes()).hexdigest()}


def main() -> None:
    folder, rank, ranks = sys.argv[1], int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    cupy.cuda.Device(rank % int(os.environ.get("GPU_TEST_DEVICES", "1"))).use()
    # CuPy's identifier is bytes or a tuple of numbers, by its version.
    payload = pickle.dumps(nccl.get_unique_id()) if rank == 0 else None
    unique_id = pickle.loads(broadcast(folder, "id", payload))
    communicator = nccl.NcclCommunicator(ranks, unique_id, rank)
    cases = [reduce_scatter(communicator, rank, ranks, count) for count in COUNTS]
    communicator.destroy()
    (pathlib.Path(folder) / f"rank{rank}.json").write_text(json.dumps({"cases": cases, "calls": len(COUNTS)}))


if __name__ == "__main__":
    main()
