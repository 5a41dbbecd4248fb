#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fills skeletons of the zoo with seeded random weights: hydrate.py NAME... OUT_DIR

The format and the numbers are those of bench/tools/hydrate.py; here the weights may be narrow
integers too, which are the numbers rounded and clipped.
"""
import gzip
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import helper

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[1]))
from bench.tools.hydrate import draw, has_data, take_fills  # noqa: E402

MODELS = HERE / "models"


def to_dtype(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        values = np.clip(np.rint(values), limits.min, limits.max)
    return values.astype(dtype)


def skeleton_path(name: str) -> Path:
    return MODELS / f"{name}.onnx.gz"


def hydrate(skeleton: Path, seed: int = 0) -> onnx.ModelProto:
    model = onnx.load_from_string(gzip.decompress(skeleton.read_bytes()))
    fills = take_fills(model)
    for tensor in model.graph.initializer:
        if has_data(tensor):
            continue
        dtype = helper.tensor_dtype_to_np_dtype(tensor.data_type)
        values = draw(tensor.name, int(np.prod(tensor.dims)), *fills[tensor.name], seed)
        tensor.raw_data = b"".join(to_dtype(v, dtype).tobytes() for v in values)
    return model


def main() -> None:
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    *names, out = sys.argv[1:]
    Path(out).mkdir(parents=True, exist_ok=True)
    for name in names:
        onnx.save(hydrate(skeleton_path(name)), Path(out) / f"{name}.onnx")


if __name__ == "__main__":
    main()
