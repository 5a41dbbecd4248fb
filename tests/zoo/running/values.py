# SPDX-License-Identifier: Apache-2.0
"""Seeded values of a model's inputs, by what the manifest says of each."""
import hashlib

import numpy as np


def dtype_of(name: str) -> np.dtype:
    if name == "bfloat16":
        import ml_dtypes
        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


def make_value(name: str, described: dict, shape: list[int], seed: int) -> np.ndarray:
    """`described` has kind, dtype, low and high: see making/model.py."""
    key = int.from_bytes(hashlib.sha256(f"{name} {seed}".encode()).digest()[:8], "little")
    rng = np.random.default_rng(key)
    dtype = dtype_of(described["dtype"])
    kind = described["kind"]
    if kind == "normal":
        return rng.standard_normal(shape).astype(dtype)
    if kind == "integers":
        return rng.integers(described["low"], described["high"] + 1, shape).astype(dtype)
    if kind == "ones":
        return np.ones(shape, dtype)
    if kind == "booleans":
        return rng.integers(0, 2, shape).astype(dtype)
    if kind == "mask":
        mask = np.ones(shape, dtype)
        for row in range(1, shape[0]):
            mask[row, ..., shape[-1] - rng.integers(0, max(1, shape[-1] // 2)):] = 0
        return mask
    raise ValueError(f"input {name}: there is no kind {kind}")
