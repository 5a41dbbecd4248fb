#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models for the tests on a GPU: a convolution, dynamically quantised products and three encoders,
as ONNX files.

    models.py FOLDER [NAME...]

Weights are small multiples of a power of two that a hash of their place gives: the same on every
machine, exact in float16, and a compiled library packs to a quarter.
"""
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17


def hashed(seed: int, count: int) -> np.ndarray:
    """splitmix64 of the numbers from 0."""
    with np.errstate(over="ignore"):
        x = (np.arange(count, dtype=np.uint64) + np.uint64(seed << 32)) * np.uint64(
            0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


class Graph:
    def __init__(self):
        self.nodes, self.tensors, self.inputs = [], [], []

    def node(self, kind: str, *inputs: str, **attributes) -> str:
        name = f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def constant(self, value) -> str:
        name = f"c{len(self.tensors)}"
        self.tensors.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def weight(self, *shape: int, terms: int = 0) -> str:
        """About as large as keeps the size of what a sum of so many terms is made of."""
        count = int(np.prod(shape))
        steps = (hashed(len(self.tensors) + 1, count) % np.uint64(15)).astype(np.float32) - 7
        scale = 2.0 ** np.round(np.log2(1 / (4.3 * np.sqrt(terms or shape[0]))))
        return self.constant((steps * np.float32(scale)).reshape(shape))

    def bias(self, count: int) -> str:
        return self.weight(count, terms=256)

    def input(self, name: str, dtype: int, *shape: int) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        return name

    def save(self, path: Path, result: str) -> None:
        self.nodes.append(helper.make_node("Identity", [result], ["y"]))
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, path.stem, self.inputs, [y], self.tensors)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)],
                                  ir_version=8)
        onnx.save(onnx.shape_inference.infer_shapes(model), path)

    # ---- Layers

    def quantized_linear(self, x: str, terms: int, units: int) -> str:
        """Its scale comes from the data: one number that all threads read."""
        name = f"quantized_{len(self.nodes)}"
        y, scale, zero = f"{name}_y", f"{name}_scale", f"{name}_zero"
        self.nodes.append(helper.make_node("DynamicQuantizeLinear", [x], [y, scale, zero], name))
        steps = (hashed(len(self.tensors) + 1, terms * units) % np.uint64(15)).astype(np.int8) - 7
        w = self.constant(steps.astype(np.int8).reshape(terms, units))
        sums = self.node("MatMulInteger", y, w, zero)
        real = self.node("Cast", sums, to=TensorProto.FLOAT)
        step = self.node("Mul", scale, self.constant(np.float32(1 / 64)))
        return self.node("Add", self.node("Mul", real, step), self.bias(units))

    def linear(self, x: str, terms: int, units: int) -> str:
        product = self.node("MatMul", x, self.weight(terms, units))
        return self.node("Add", product, self.bias(units))

    def norm(self, x: str, width: int) -> str:
        scale = self.constant(np.ones(width, np.float32))
        return self.node("LayerNormalization", x, scale, self.bias(width), epsilon=1e-5, axis=-1)

    def gelu(self, x: str) -> str:
        erf = self.node("Erf", self.node("Div", x, self.constant(np.float32(2 ** 0.5))))
        half = self.node("Mul", x, self.node("Add", erf, self.constant(np.float32(1))))
        return self.node("Mul", half, self.constant(np.float32(0.5)))

    def heads(self, x: str, shape: list[int], order: list[int]) -> str:
        parts = self.node("Reshape", x, self.constant(np.array(shape, np.int64)))
        return self.node("Transpose", parts, perm=order)

    def attention(self, x: str, batch: int, rows: int, width: int, heads: int, mask="") -> str:
        each = width // heads
        shape = [batch, rows, heads, each]
        q = self.heads(self.linear(x, width, width), shape, [0, 2, 1, 3])
        k = self.heads(self.linear(x, width, width), shape, [0, 2, 3, 1])
        v = self.heads(self.linear(x, width, width), shape, [0, 2, 1, 3])
        scores = self.node("Mul", self.node("MatMul", q, k),
                           self.constant(np.float32(each ** -0.5)))
        if mask:
            scores = self.node("Add", scores, mask)
        mixed = self.node("MatMul", self.node("Softmax", scores, axis=-1), v)
        joined = self.node("Reshape", self.node("Transpose", mixed, perm=[0, 2, 1, 3]),
                           self.constant(np.array([batch, rows, width], np.int64)))
        return self.linear(joined, width, width)

    def conv(self, x: str, channels: int, filters: int, kernel: int, stride=1, dims=2) -> str:
        pad = kernel // 2
        w = self.weight(filters, channels, *[kernel] * dims, terms=channels * kernel ** dims)
        return self.node("Conv", x, w, self.bias(filters), kernel_shape=[kernel] * dims,
                         strides=[stride] * dims, pads=[pad] * (2 * dims))

    def silu(self, x: str) -> str:
        return self.node("Mul", x, self.node("Sigmoid", x))

    def group_norm(self, x: str, channels: int, side: int, groups=32) -> str:
        flat = self.node("Reshape", x, self.constant(np.array([1, groups, -1], np.int64)))
        ones = self.constant(np.ones(groups, np.float32))
        zeros = self.constant(np.zeros(groups, np.float32))
        normal = self.node("InstanceNormalization", flat, ones, zeros, epsilon=1e-5)
        shape = self.constant(np.array([1, channels, side, side], np.int64))
        scale = self.constant(np.ones((channels, 1, 1), np.float32))
        shift = self.weight(channels, 1, 1, terms=256)
        return self.node("Add", self.node("Mul", self.node("Reshape", normal, shape), scale), shift)

    def residual_block(self, x: str, channels: int, filters: int, side: int) -> str:
        h = self.conv(self.silu(self.group_norm(x, channels, side)), channels, filters, 3)
        h = self.conv(self.silu(self.group_norm(h, filters, side)), filters, filters, 3)
        return self.node("Add", h, x if channels == filters else self.conv(x, channels, filters, 1))


# ---- The models

def conv(g: Graph) -> str:
    return g.conv(g.input("x", TensorProto.FLOAT, 8, 64, 56, 56), 64, 64, 3)


def quantized(g: Graph, width=256, layers=3) -> str:
    x = g.input("x", TensorProto.FLOAT, 64, width)
    for _ in range(layers):
        x = g.node("Relu", g.quantized_linear(x, width, width))
    return x


def whisper(g: Graph, width=384, heads=6, layers=2) -> str:
    x = g.input("mel", TensorProto.FLOAT, 1, 80, 3000)
    x = g.gelu(g.conv(x, 80, width, 3, dims=1))
    x = g.gelu(g.conv(x, width, width, 3, stride=2, dims=1))
    x = g.node("Add", g.node("Transpose", x, perm=[0, 2, 1]), g.weight(1500, width, terms=256))
    for _ in range(layers):
        x = g.node("Add", x, g.attention(g.norm(x, width), 1, 1500, width, heads))
        h = g.gelu(g.linear(g.norm(x, width), width, 4 * width))
        x = g.node("Add", x, g.linear(h, 4 * width, width))
    return g.norm(x, width)


def distilbert(g: Graph, batch=2, rows=128, width=768, heads=12, layers=2) -> str:
    ids = g.input("input_ids", TensorProto.INT64, batch, rows)
    kept = g.input("attention_mask", TensorProto.INT64, batch, rows)
    shape = g.constant(np.array([batch, 1, 1, rows], np.int64))
    missing = g.node("Equal", g.node("Reshape", kept, shape), g.constant(np.int64(0)))
    mask = g.node("Where", missing, g.constant(np.float32(-1e4)), g.constant(np.float32(0)))
    x = g.node("Gather", g.weight(1000, width, terms=16), ids, axis=0)
    x = g.norm(g.node("Add", x, g.weight(rows, width, terms=16)), width)
    for _ in range(layers):
        x = g.norm(g.node("Add", x, g.attention(x, batch, rows, width, heads, mask)), width)
        h = g.linear(g.gelu(g.linear(x, width, 4 * width)), 4 * width, width)
        x = g.norm(g.node("Add", x, h), width)
    return x


def unet(g: Graph) -> str:
    x = g.conv(g.input("latent", TensorProto.FLOAT, 1, 4, 64, 64), 4, 64, 3)
    x = g.residual_block(x, 64, 64, 64)
    x = g.conv(x, 64, 64, 3, stride=2)
    x = g.residual_block(x, 64, 128, 32)
    x = g.conv(x, 128, 128, 3, stride=2)
    x = g.residual_block(x, 128, 128, 16)
    rows = g.node("Transpose", g.node("Reshape", x, g.constant(np.array([1, 128, 256], np.int64))),
                  perm=[0, 2, 1])
    rows = g.node("Add", rows, g.attention(g.norm(rows, 128), 1, 256, 128, 4))
    x = g.node("Reshape", g.node("Transpose", rows, perm=[0, 2, 1]),
               g.constant(np.array([1, 128, 16, 16], np.int64)))
    return g.silu(g.group_norm(x, 128, 16))


MODELS = {"conv": conv, "quantized": quantized, "whisper": whisper, "distilbert": distilbert,
          "unet": unet}


def feeds(inputs, turn: int) -> dict[str, np.ndarray]:
    """By name and shape of the inputs, the same on every machine. Another turn has other values, of
    which the largest are smaller."""
    out = {}
    for name, shape in inputs:
        bits = hashed(77 + turn, int(np.prod(shape))).reshape(shape)
        if name == "input_ids":
            out[name] = (bits % np.uint64(1000)).astype(np.int64)
        elif name == "attention_mask":  # the last row is padded
            out[name] = np.ones(shape, np.int64)
            out[name][-1, shape[-1] // 2:] = 0
        else:  # in [-2, 2), or [-1, 1) and so on, exact in float16
            real = (bits >> np.uint64(52)).astype(np.float32) / 1024 - 2
            out[name] = real / np.float32(2 ** turn)
    return out


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or MODELS:
        graph = Graph()
        result = MODELS[name](graph)
        graph.save(folder / f"{name}.onnx", result)


if __name__ == "__main__":
    main()
