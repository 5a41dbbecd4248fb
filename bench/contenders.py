# SPDX-License-Identifier: Apache-2.0
"""Who takes part in run.py's turns: engines in each precision, and the files that they open."""
from pathlib import Path
from typing import NamedTuple

import numpy as np


class Contender(NamedTuple):
    engine: str  # of tools/engine.py
    file: str    # in the model's folder; ours are compiled there


QUANTISED = "qdq/model.onnx"  # made of the model by onnxruntime
# By precision, then by the name of its column. Those of float32 are what --engines chooses from.
CONTENDERS = {
    "float32": {"tessera": Contender("tessera", "model.so"),
                "onnxruntime": Contender("onnxruntime", "model.onnx"),
                "openvino": Contender("openvino", "model.onnx")},
    # What OpenVINO computes in if nobody says: bfloat16 where the machine multiplies it fast.
    "default": {"openvino default": Contender("openvino_default", "model.onnx")},
    "bf16": {"tessera bf16": Contender("tessera", "bf16.so"),
             "openvino bf16": Contender("openvino_bf16", "model.onnx")},
    "int8": {"tessera int8": Contender("tessera", "qdq/model.so"),
             "onnxruntime int8": Contender("onnxruntime", QUANTISED),
             "openvino int8": Contender("openvino", QUANTISED)},
}
BEFORE = {"before": Contender("before", "earlier/model.so")}  # with its own oneDNN beside
# What ours of a precision is compiled from, and how.
SOURCES = {"bf16": ("model.onnx", ["--precision", "bf16"]), "int8": (QUANTISED, [])}


def quantise(folder: Path) -> None:
    """QDQ, static: weights of int8 by channel, activations of uint8, calibrated with three random
    inputs."""
    from onnxruntime.quantization import (CalibrationDataReader, QuantFormat, QuantType,
                                          quantize_static)

    class RandomInputs(CalibrationDataReader):
        def __init__(self):
            feeds = {p.stem: np.load(p) for p in sorted((folder / "inputs").glob("*.npy"))}
            self.left = [{n: np.random.default_rng(seed).standard_normal(x.shape).astype(x.dtype)
                          if x.dtype.kind == "f" else x for n, x in feeds.items()}
                         for seed in range(3)]

        def get_next(self):
            return self.left.pop() if self.left else None

    quantised = folder / QUANTISED
    if quantised.exists():
        return
    quantised.parent.mkdir(exist_ok=True)
    quantize_static(folder / "model.onnx", quantised, RandomInputs(), quant_format=QuantFormat.QDQ,
                    per_channel=True, weight_type=QuantType.QInt8,
                    activation_type=QuantType.QUInt8)


def sources(precision: str, folder: Path) -> list[tuple[Path, Path, list[str]]]:
    """What is to be compiled for a precision besides float32: model, library, options. Makes the
    model."""
    if precision not in SOURCES:
        return []
    model, options = SOURCES[precision]
    if model == QUANTISED:
        quantise(folder)
    return [(folder / model, folder / c.file, options) for c in CONTENDERS[precision].values()
            if c.engine == "tessera"]
