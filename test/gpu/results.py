"""Results: what a test program writes for comparison.py, one file per rank. Exactly summable cases are kept
as a digest of their bits, others as their distance from fp64 and from what the rounding contract allows."""

import hashlib
import json
import pathlib

import torch

# Half a unit in the last place, relative.
_UNIT = {torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11, torch.float32: 2.0**-24}
_ACCUMULATION = 2.0**-23  # of the sum of magnitudes, per addition or scaling in fp32
_SMALLEST = {torch.bfloat16: 0.0, torch.float16: 2.0**-25, torch.float32: 0.0}  # half a subnormal step
_ENOUGH_FOR_A_MEAN = 10_000  # elements; below, chance decides whose mean error is smaller


class Results:
    def __init__(self, folder: str, rank: int):
        self._path = pathlib.Path(folder) / f"rank{rank}.json"
        self._cases: list[dict] = []
        self.calls = 0  # reduce-scatter calls that the slab should take

    def exact(self, name: str, tensor: torch.Tensor) -> None:
        bits = tensor.detach().contiguous().cpu().view(torch.uint8).numpy().tobytes()
        self._cases.append({"name": name, "digest": hashlib.sha256(bits).hexdigest()})

    def summed(self, name: str, result: torch.Tensor, contributions: torch.Tensor) -> None:
        """`result` against the sum of the fp64 rows of `contributions`, with one rounding to the result's type."""
        reference = contributions.sum(0)
        magnitude = contributions.abs().sum(0)
        unit, terms = _UNIT[result.dtype], contributions.shape[0]
        bound = unit * reference.abs() + terms * _ACCUMULATION * magnitude + _SMALLEST[result.dtype]
        self._near(name, result, reference, bound, mean_counts=result.numel() >= _ENOUGH_FOR_A_MEAN)

    def near(self, name: str, result: torch.Tensor, reference: torch.Tensor, bound: float) -> None:
        """`result` within `bound` of the reference; its error is dominated by other things than the reduction."""
        self._near(name, result, reference, torch.full_like(reference, bound), mean_counts=False)

    def _near(
        self, name: str, result: torch.Tensor, reference: torch.Tensor, bound: torch.Tensor, mean_counts: bool
    ) -> None:
        error = (result.double() - reference).abs()
        excess = (error - bound).max().item()
        self._cases.append(
            {
                "name": name,
                "max_error": error.max().item(),
                "mean_error": error.mean().item(),
                "mean_counts": mean_counts,
                "excess": excess if excess == excess else float("inf"),
            }
        )

    def save(self) -> None:
        self._path.write_text(json.dumps({"cases": self._cases, "calls": self.calls}))
