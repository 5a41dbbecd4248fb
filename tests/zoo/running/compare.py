# SPDX-License-Identifier: Apache-2.0
"""Whether the outputs of a model are right.

The error of an output is the largest difference relative to the largest value. Against what
onnxruntime computes in float32, or node by node, it may be twice onnxruntime's own error on the
same file, and what the type of the computation costs. Quantised models round to few levels, so that
a last bit before a rounding becomes a level after it: there the mean error is bounded too.
"""
import numpy as np

ALLOWED = {"float32": 2e-4, "float16": 8e-3, "bfloat16": 5e-2, "quantised": 8e-2}
MEAN_ALLOWED = 1.5e-2   # of quantised models
DIFFERENT_INTEGERS = 0.01  # of an output: ties of an argmax, a rounding that went the other way


def computed_in(entry: dict, options: list[str]) -> str:
    """`options`: those that the model was compiled with."""
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


def compare(found: dict, exact: dict, same: dict | None, kind: str) -> tuple[float, str]:
    """The largest error, and a sentence where something is wrong."""
    most, wrong = 0.0, ""
    for name, wanted in exact.items():
        got = found[name]
        if got.shape != wanted.shape:
            return float("inf"), f"{name} has the shape {got.shape}, not {wanted.shape}"
        if not is_float(wanted):
            unequal = int((got != wanted).sum())
            allowed = DIFFERENT_INTEGERS * got.size
            if kind != "float32":  # neighbours of a maximum are many
                allowed = max(1, 10 * allowed)
            if unequal > allowed:
                wrong = wrong or f"{name}: {unequal} of {got.size} integers differ"
            continue
        error, mean = error_of(got, wanted)
        usual, usual_mean = error_of(same[name], wanted) if same else (0.0, 0.0)
        most = max(most, error)
        limit = ALLOWED[kind] + 2 * min(usual, 1.0)
        if error > limit or (kind == "quantised" and
                             mean > MEAN_ALLOWED + 2 * min(usual_mean, 1.0)):
            wrong = wrong or f"{name}: error {error:.3g} of the largest value, onnxruntime " \
                             f"{usual:.2g}"
    return most, wrong
