"""The variables that a step needs to run NCCL as this machine allows, plain or with the slab. Ranks that
share one GPU are what NCCL refuses by default and what the slab must be told to accept."""

import os
import pathlib

from places import Places

CUDA_LIBRARIES = "/usr/local/cuda/lib64"


class Environment:
    def __init__(self, places: Places, devices: int):
        self._places = places
        self.devices = devices

    def nccl(self) -> dict[str, str]:
        """Any program on a machine of PCIe neighbours. Multicast stays off: it can disturb other
        users of the switch. No table that this user has tuned."""
        return {
            "NCCL_NVLS_ENABLE": "0",
            "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1",
            "NVSHMEM_DISABLE_NVLS": "1",
            "NCCL_IB_DISABLE": "1",
            "NCCL_SLAB_TUNE_FILE": "/dev/null",
            "NCCL_SOCKET_IFNAME": "lo",
            "GPU_TEST_DEVICES": str(self.devices),
        }

    def given_nccl(self, ranks: int) -> dict[str, str]:
        """Programs that take libnccl.so.2 from the loader: the one given with --nccl. With few
        channels, since the kernels of all ranks on one GPU must be resident at once."""
        real = self._places.real_nccl()
        variables = self.nccl()
        if real is not None:
            others = os.environ.get("LD_LIBRARY_PATH", "")
            variables["LD_LIBRARY_PATH"] = f"{real.parent}:{CUDA_LIBRARIES}" + (
                f":{others}" if others else ""
            )
        if ranks > self.devices:
            variables |= {"NCCL_MULTI_RANK_GPU_ENABLE": "1", "NCCL_MAX_NCHANNELS": "4"}
        return variables

    def preload(
        self, library: pathlib.Path | None, transport: str = "auto", **settings: str
    ) -> dict[str, str]:
        """The slab for every call that it can take; statistics go to the step's folder, one file per process."""
        return {
            "LD_PRELOAD": str(library),
            "NCCL_SLAB_FORCE": "1",
            "NCCL_SLAB_TRANSPORT": transport,
            "NCCL_SLAB_STATS_FILE": "{dir}/stats.%p.json",
            "NCCL_SLAB_DEBUG": "INFO",
            "NCCL_SLAB_DEBUG_FILE": "{dir}/slab.%p.log",
        } | {f"NCCL_SLAB_{name.upper()}": value for name, value in settings.items()}
