"""The Multi-Process Service in a private folder: without it, kernels of several processes on one GPU take
turns and every flag round trip costs milliseconds. It must be restarted after a client was killed, since it
may then refuse new ones."""

import os
import pathlib
import shutil
import subprocess
import tempfile

_CONTROL = "nvidia-cuda-mps-control"
PROCESS_NAME = "nvidia-cuda-mps"  # of daemon and server, as far as the kernel keeps names


class Mps:
    """Not used when `wanted` is false or the tool is absent."""

    def __init__(self, wanted: bool):
        self.present = wanted and shutil.which(_CONTROL) is not None
        self._folder: pathlib.Path | None = None

    def variables(self) -> dict[str, str]:
        if self._folder is None:
            return {}
        return {
            "CUDA_MPS_PIPE_DIRECTORY": str(self._folder / "pipe"),
            "CUDA_MPS_LOG_DIRECTORY": str(self._folder / "log"),
        }

    def start(self) -> None:
        if not self.present:
            return
        # A short path: the pipes are Unix sockets.
        self._folder = pathlib.Path(tempfile.mkdtemp(prefix="mps-", dir="/tmp"))
        for name in ("pipe", "log"):
            (self._folder / name).mkdir()
        subprocess.run([_CONTROL, "-d"], env=os.environ | self.variables(), check=True, timeout=20)

    def stop(self) -> None:
        """A daemon that does not answer is left to the runner, which ends every process that it started."""
        if self._folder is None:
            return
        try:
            subprocess.run(
                [_CONTROL],
                input=b"quit -t 1\n",
                env=os.environ | self.variables(),
                timeout=15,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=False,
            )
        except subprocess.TimeoutExpired:
            pass
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder = None
