"""JAX: XLA opens NCCL by its name and looks its functions up. psum_scatter of whole numbers, one device per process. Says
"skipped" (status 77) where JAX is not installed or has no GPU. Usage: under launch.py, with the folder for the results."""

import hashlib
import json
import os
import pathlib
import sys

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"  # ranks may share a GPU
try:
    import jax
    import numpy
    from jax.sharding import NamedSharding, PartitionSpec
except ImportError as error:
    print(f"no JAX: {error}")
    sys.exit(77)

COUNTS = (1, 1000, 65537)
TYPES = ("float32", "bfloat16", "float16")


def scatter(mesh, values: numpy.ndarray) -> numpy.ndarray:
    """This rank's part of the sum of every rank's `values`."""
    rows = PartitionSpec("ranks")
    inputs = jax.make_array_from_process_local_data(NamedSharding(mesh, rows), values)
    body = lambda mine: jax.lax.psum_scatter(mine, "ranks", tiled=True)
    shards = jax.jit(jax.shard_map(body, mesh=mesh, in_specs=rows, out_specs=rows))(inputs)
    return numpy.asarray(shards.addressable_shards[0].data)


def case(mesh, rank: int, ranks: int, kind: str, count: int) -> dict:
    values = [
        numpy.random.RandomState(count * 100 + each).randint(-8, 9, ranks * count).astype(numpy.float32)
        for each in range(ranks)
    ]
    shard = scatter(mesh, values[rank].astype(jax.numpy.dtype(kind)))
    wanted = sum(values)[rank * count : (rank + 1) * count]
    if not numpy.array_equal(shard.astype(numpy.float32), wanted):
        raise RuntimeError(f"wrong sum, {kind} {count}")
    return {"name": f"psum_scatter {kind} {count}", "digest": hashlib.sha256(shard.tobytes()).hexdigest()}


def main() -> None:
    folder, rank, ranks = sys.argv[1], int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    device = rank % int(os.environ.get("GPU_TEST_DEVICES", "1"))
    address = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
    jax.distributed.initialize(address, ranks, rank, local_device_ids=[device])
    if jax.default_backend() != "gpu" or jax.device_count() != ranks:
        print(f"JAX sees {jax.device_count()} devices of kind {jax.default_backend()}")
        sys.exit(77)
    mesh = jax.make_mesh((ranks,), ("ranks",))
    cases = [case(mesh, rank, ranks, kind, count) for kind in TYPES for count in COUNTS]
    (pathlib.Path(folder) / f"rank{rank}.json").write_text(json.dumps({"cases": cases, "calls": len(cases)}))
    jax.distributed.shutdown()


if __name__ == "__main__":
    main()
