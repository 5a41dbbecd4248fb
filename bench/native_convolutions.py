#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Quantised convolutions without back ends, in pairs of int16, beside those of float32.

    bench/native_convolutions.py [--threads 1] [--seconds 2]

Each shape is a model of four convolutions and ReLUs of one image, in float32 and with quantised
data and weights (QDQ, a scale for each channel). Both are compiled for generated code alone,
compared with onnxruntime, and timed in turns. Times of the quantised ones contain quantising the
image four times. What the compiler leaves in float32 is told.
"""
import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnxruntime
from onnx import ModelProto, TensorProto, helper, numpy_helper

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "build" / "release" / "python"))
import tessera  # noqa: E402

COPIES, ROUND_S = 4, 0.25
# Channels in, channels out, window, stride, rows and columns.
SHAPES = [(64, 64, 3, 1, 56), (128, 128, 3, 1, 28), (256, 256, 3, 1, 14), (512, 512, 3, 1, 7),
          (32, 32, 3, 1, 112), (16, 16, 3, 1, 112), (256, 64, 1, 1, 56), (64, 256, 1, 1, 56),
          (512, 128, 1, 1, 28), (1024, 256, 1, 1, 14), (256, 1024, 1, 1, 14), (128, 128, 3, 2, 56),
          (256, 256, 3, 2, 28)]


def model_of(shape: tuple, is_quantised: bool) -> ModelProto:
    inputs, outputs, window, stride, size = shape
    rng = np.random.default_rng(0)
    nodes, constants = [], []

    def constant(name: str, value: np.ndarray) -> str:
        constants.append(numpy_helper.from_array(value, name))
        return name

    def node(op: str, reads: list[str], result: str, **attributes) -> str:
        nodes.append(helper.make_node(op, reads, [result], **attributes))
        return result

    for i in range(COPIES):
        weight = rng.standard_normal((outputs, inputs, window, window)).astype(np.float32)
        weight /= np.sqrt(inputs * window * window)
        data = "x"
        if is_quantised:
            scale = (np.abs(weight).max((1, 2, 3)) / 127).astype(np.float32)
            bytes_ = np.round(weight / scale[:, None, None, None]).astype(np.int8)
            matrix = node("DequantizeLinear",
                          [constant(f"w{i}", bytes_), constant(f"ws{i}", scale)], f"wf{i}", axis=0)
            of_data = [constant(f"s{i}", np.float32(0.03 + 0.001 * i)),
                       constant(f"z{i}", np.uint8(120))]
            data = node("DequantizeLinear", [node("QuantizeLinear", ["x", *of_data], f"q{i}"),
                                             *of_data], f"d{i}")
        else:
            matrix = constant(f"w{i}", weight)
        node("Relu", [node("Conv", [data, matrix], f"c{i}", strides=[stride] * 2,
                           pads=[window // 2] * 4)], f"y{i}")
    graph = helper.make_graph(
        nodes, "convolutions",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, inputs, size, size])],
        [helper.make_tensor_value_info(f"y{i}", TensorProto.FLOAT, None) for i in range(COPIES)],
        constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


class Compiled:
    def __init__(self, model: ModelProto, folder: Path, threads: int):
        (folder / "model.onnx").write_bytes(model.SerializeToString())
        said = json.loads(subprocess.run(
            [ROOT / "build" / "tessera", "compile", folder / "model.onnx", "-o",
             folder / "model.so", "--partition", "none", "--json"], check=True,
            stdout=subprocess.PIPE).stdout)
        self.in_floats = said.get("float_operators", [])
        self.model = tessera.Model(folder / "model.so", threads=threads)
        self.times: list[float] = []
        shape = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
        self.input = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
        session = onnxruntime.InferenceSession(model.SerializeToString())
        wanted, found = session.run(None, {"x": self.input}), self.model(self.input)
        self.error = max(float(np.abs(f - w).max() / np.abs(w).max())
                         for f, w in zip(found, wanted))

    def run(self) -> None:
        end = time.perf_counter() + ROUND_S
        while time.perf_counter() < end:
            start = time.perf_counter()
            self.model(self.input)
            self.times.append(time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2, help="of each model")
    options = parser.parse_args()
    print("| in, out, window, stride, size | float32 us | quantised us | float32 / quantised |"
          " in float32 | largest error |\n|---|---:|---:|---:|---|---:|")
    for shape in SHAPES:
        with tempfile.TemporaryDirectory() as folder:
            two = []
            for is_quantised in (False, True):
                own = Path(folder) / str(is_quantised)
                own.mkdir()
                two.append(Compiled(model_of(shape, is_quantised), own, options.threads))
            for _ in range(round(options.seconds / ROUND_S)):
                for each in two:
                    each.run()
            plain, quantised = (statistics.median(c.times) * 1e6 for c in two)
            kept = "; ".join(f"{o['count']} {o['operator']}: {o['reason']}"
                             for o in two[1].in_floats)
            print(f"| {', '.join(map(str, shape))} | {plain:,.0f} | {quantised:,.0f} |"
                  f" {plain / quantised:.2f} | {kept} | {max(c.error for c in two):.0e} |",
                  flush=True)


if __name__ == "__main__":
    main()
