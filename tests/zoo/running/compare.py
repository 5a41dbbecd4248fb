# SPDX-License-Identifier: Apache-2.0
"""Whether the outputs of a model are right.

The error of an output is the largest difference relative to the largest value. Against what
onnxruntime computes in float32, or node by node, it may be twice onnxruntime's own error on the
same file, and what the type of the computation costs. Quantised models round to few levels, so that
a last bit before a rounding becomes a level after it: there the mean error is bounded too.

Where the data decide how many rows there are (running/data_sizes.py), 16 bits may decide otherwise:
scores that were apart are equal, so that a suppression keeps the boxes in another order, or another
box. Such rows are compared as a set.
"""
import numpy as np

ALLOWED = {"float32": 2e-4, "float16": 8e-3, "bfloat16": 5e-2, "quantised": 8e-2}
MEAN_ALLOWED = 1.5e-2   # of quantised models
DIFFERENT_ROWS = 0.05   # of those that the data decide, in a type of 16 bits
DIFFERENT_INTEGERS = 0.01  # of an output: ties of an argmax, a rounding that went the other way


def computed_in(entry: dict, options: list[str]) -> str:
    """`options`: those that the model was compiled with."""
    if "bf16" in options:
        return "bfloat16"
    variant = entry["variant"]
    for word, kind in (("dynamic", "quantised"), ("qdq", "quantised"), ("qoperator", "quantised"),
                       ("bfloat", "bfloat16"), ("half", "float16"), ("fp16", "float16")):
        if word in variant:
            return kind
    return "float16" if "fp16" in options else "float32"


def as_float(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float64)


def is_float(x: np.ndarray) -> bool:
    return x.dtype.kind in "fV" or x.dtype.name == "bfloat16"


def error_of(found: np.ndarray, exact: np.ndarray) -> tuple[float, float]:
    """The largest and the mean error, of the largest finite value."""
    a, b = as_float(found), as_float(exact)
    odd = ~np.isfinite(b)
    if odd.any() or not np.isfinite(a).all():
        same = np.where(np.isnan(b), np.isnan(a), a == b)
        if not same[odd].all() or not np.isfinite(a[~odd]).all():
            return float("inf"), float("inf")
        a, b = a[~odd], b[~odd]
    if b.size == 0:
        return 0.0, 0.0
    difference = np.abs(a - b) / max(np.abs(b).max(), 1e-6)
    return float(difference.max()), float(difference.mean())


def as_rows(x: np.ndarray, axis: int) -> np.ndarray:
    rows = np.moveaxis(as_float(x), axis, 0)
    return rows.reshape(len(rows), int(np.prod(rows.shape[1:])))


def rows_alone(found: np.ndarray, exact: np.ndarray, axis: int, limit: float) -> int:
    """How many rows of the longer one have no row of their own, within the limit, in the other."""
    a, b = as_rows(found, axis), as_rows(exact, axis)
    if a.shape[1] != b.shape[1]:
        return max(len(a), len(b))
    largest = max(np.abs(b).max(initial=0), 1e-6)
    pairs, free = 0, np.ones(len(b), bool)
    for row in a:
        apart = np.where(free, np.abs(b - row).max(axis=1, initial=0), np.inf)
        nearest = int(np.argmin(apart)) if len(b) else None
        if nearest is not None and apart[nearest] <= limit * largest:
            free[nearest] = False
            pairs += 1
    return max(len(a), len(b)) - pairs


def are_same_rows(found: np.ndarray, exact: np.ndarray, axes: set[int], kind: str) -> bool:
    if kind not in ("float16", "bfloat16") or len(axes) != 1 or found.ndim != exact.ndim:
        return False
    axis, = axes
    limit = ALLOWED[kind] if is_float(exact) else 0.0
    return rows_alone(found, exact, axis, limit) <= max(1, DIFFERENT_ROWS * exact.shape[axis])


def compare_one(name: str, got: np.ndarray, wanted: np.ndarray, same: np.ndarray | None,
                kind: str) -> tuple[float, str]:
    if got.shape != wanted.shape:
        return float("inf"), f"{name} has the shape {got.shape}, not {wanted.shape}"
    if not is_float(wanted):
        unequal = int((got != wanted).sum())
        allowed = DIFFERENT_INTEGERS * got.size
        if kind != "float32":  # neighbours of a maximum are many
            allowed = max(1, 10 * allowed)
        return 0.0, f"{name}: {unequal} of {got.size} integers differ" if unequal > allowed else ""
    error, mean = error_of(got, wanted)
    is_usable = same is not None and same.shape == wanted.shape
    usual, usual_mean = error_of(same, wanted) if is_usable else (0.0, 0.0)
    limit = ALLOWED[kind] + 2 * min(usual, 1.0)
    if error > limit or (kind == "quantised" and mean > MEAN_ALLOWED + 2 * min(usual_mean, 1.0)):
        return error, f"{name}: error {error:.3g} of the largest value, onnxruntime {usual:.2g}"
    return error, ""


def compare(found: dict, exact: dict, same: dict | None, kind: str,
            data_sizes: dict[str, set[int]] | None = None) -> tuple[float, str, str]:
    """The largest error, a sentence where something is wrong, and one where rows are the same but
    for their order and a few."""
    most, wrong, reordered = 0.0, "", ""
    for name, wanted in exact.items():
        error, fault = compare_one(name, found[name], wanted, same and same[name], kind)
        if fault and are_same_rows(found[name], wanted, (data_sizes or {}).get(name, set()), kind):
            reordered = reordered or f"{fault}, but as a set the rows are right"
            continue
        most = max(most, error)
        wrong = wrong or fault
    return most, wrong, reordered
