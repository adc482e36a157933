"""Where the suite finds what was built (out/cuda, else build/cuda) and what it was given to compare with
(--nccl DIR: lib/libnccl.so.2 and bin/*_perf, of NCCL 2.30.3 or newer, since older ones refuse two ranks on
one GPU)."""

import pathlib
import shutil

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Places:
    def __init__(self, nccl: str | None, flavour: str = "cuda"):
        self._built = [ROOT / "out" / flavour, ROOT / "build" / flavour]
        self.nccl = pathlib.Path(nccl).resolve() if nccl else None
        self.emulated = flavour == "emu"

    def built(self, name: str) -> pathlib.Path | None:
        """The built file of that name; the installed one comes first."""
        for folder in self._built:
            for found in sorted(folder.rglob(name)) if folder.is_dir() else []:
                if found.is_file():
                    return found
        return None

    def tool(self) -> pathlib.Path | None:
        """The command, which works in an installation only."""
        found = self._built[0] / "bin" / "nccl-slab"
        return found if found.is_file() else None

    def preload(self) -> pathlib.Path | None:
        return self.built("libnccl-slab.so")

    def drop_in(self) -> pathlib.Path | None:
        """Our libnccl.so.2, in the folder that keeps it off the loader's usual path."""
        for folder in self._built:
            found = folder / "lib" / "nccl-slab" / "libnccl.so.2"
            if found.is_file():
                return found
        return None

    def real_nccl(self) -> pathlib.Path | None:
        if self.nccl is None:
            return None
        for folder in (self.nccl / "lib", self.nccl):
            if (folder / "libnccl.so.2").exists():
                return folder / "libnccl.so.2"
        return None

    def nccl_test(self, name: str) -> pathlib.Path | None:
        if self.nccl is None:
            return None
        for folder in (self.nccl / "bin", self.nccl / "build", self.nccl):
            if (folder / name).is_file():
                return folder / name
        return None

    def mpirun(self) -> str | None:
        """The one that lies beside the given tests, which were built for it; else the machine's."""
        own = self.nccl / "mpi" / "mpirun" if self.nccl else None
        return str(own) if own and own.is_file() else shutil.which("mpirun")

    def missing_for_nccl(self, program: pathlib.Path | None, name: str) -> str:
        """Why a program that runs on the given NCCL, plain and with the slab, cannot run; empty if it can."""
        if self.real_nccl() is None:
            return "no libnccl given (--nccl DIR)"
        if program is None:
            return f"{name} is not built"
        return "" if self.preload() else "libnccl-slab.so is not built"
