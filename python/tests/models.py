# SPDX-License-Identifier: Apache-2.0
"""Small models of Relay text, what they compute, and libraries of them, made once a process."""
import atexit
import tempfile
import warnings
from pathlib import Path

import numpy as np
import tessera

try:
    import onnx
    import onnx.parser
except ImportError:
    onnx = None
try:
    import onnxscript  # noqa: F401
    import torch
    warnings.filterwarnings("ignore", module="torch")
except ImportError:
    torch = None

# As ONNX has it: rows of any number times a matrix.
PRODUCT = """<ir_version: 8, opset_import: ["": 17]>
g (float[batch, 4] x) => (float[batch, 2] y) <float[4, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}>
{ y = MatMul(x, w) }"""
VERSION = '#[version = "0.0.5"]\n'
# A product with rows of any number, in a region of oneDNN where there is one.
DENSE = VERSION + """
def @main(%x: Tensor[(?n, 8), float32], %w: Tensor[(16, 8), float32]) {
  nn.relu(nn.dense(%x, %w, units=None))
}
"""
# Two results, one whose size the data decide.
TWO = VERSION + """
def @main(%x: Tensor[(6), float32], %y: Tensor[(6), float32]) {
  (add(%x, %y), argwhere(greater(%x, %y)))
}
"""
BFLOAT = VERSION + """
def @main(%x: Tensor[(4, 5), bfloat16], %y: Tensor[(4, 5), bfloat16]) {
  multiply(%x, %y)
}
"""
# Long enough that two runs meet.
LONG = VERSION + """
def @main(%x: Tensor[(700, 700), float32]) {
  nn.dense(nn.dense(nn.dense(%x, %x, units=None), %x, units=None), %x, units=None)
}
"""

_folder = tempfile.TemporaryDirectory()
atexit.register(_folder.cleanup)
_made: dict[str, str] = {}


def folder() -> Path:
    return Path(_folder.name)


def library(text: str, **options) -> str:
    """The path of the text's library."""
    key = text + repr(options)
    if key not in _made:
        path = folder() / f"model{len(_made)}.so"
        tessera.compile(text, path, progress=False, **options)
        _made[key] = str(path)
    return _made[key]


def dense(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    return np.maximum(x @ w.T, 0)


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)
