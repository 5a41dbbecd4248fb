#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles a model, runs it on numbers of its own, and says who computes what: first_model.py
model.onnx [NAME=SIZE...], sizes of the model's open dimensions."""
import sys

import numpy as np
import tessera


def sample(port: tessera.Port, random: np.random.Generator) -> np.ndarray:
    shape = [size if size is not None else max(least or 1, 1)
             for size, least in zip(port.shape, port.min_shape)]
    if port.dtype.kind in "iub":
        return np.zeros(shape, port.dtype)
    return random.standard_normal(shape, dtype=np.float32).astype(port.dtype)


def main() -> None:
    dims = dict(text.split("=", 1) for text in sys.argv[2:])
    model = tessera.compile(sys.argv[1], dims=dims)
    for row in model.report.rows():
        print(f"{row['backend']:10} {row['operators']}  {row['reason']}")
    print(model.report)
    random = np.random.default_rng(0)
    for name, y in model.run({port.name: sample(port, random) for port in model.inputs}).items():
        print(f"{name}: {y.dtype}{list(y.shape)}, mean {np.mean(y, dtype=np.float64):.4f}")


if __name__ == "__main__":
    main()
