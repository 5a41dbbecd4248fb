#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Products of float32 in generated code, beside oneDNN and OpenBLAS.

    bench/native_products.py [--threads 2] [--seconds 0.5] [--operands columns,rows,inputs]

One product a model: x times a constant matrix whose rows are the terms (`columns`: MatMul), or the
columns (`rows`: Gemm with transB), or times a matrix that is an input (`inputs`). Each is compiled
for generated code alone and for either library, compared with numpy's sums of float64, and timed in
turns: medians, of a call of the package for Python.
"""
import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "build" / "release" / "python"))
import tessera  # noqa: E402

TURNS = 5
ROWS = (1, 5, 16, 128, 197, 1024)
MATRICES = ((384, 384), (384, 1536), (768, 768), (768, 3072), (3072, 768), (2048, 1000))
WAYS = {"native": ["--partition", "none"], "onednn": ["--backends", "onednn"],
        "blas": ["--backends", "blas"]}


def write_model(file: Path, operands: str, rows: int, matrix: np.ndarray) -> None:
    stored = np.ascontiguousarray(matrix.T) if operands == "rows" else matrix
    node = helper.make_node("Gemm", ["x", "w"], ["y"], transB=1) if operands == "rows" \
        else helper.make_node("MatMul", ["x", "w"], ["y"])
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, matrix.shape[0]])]
    constants = [numpy_helper.from_array(stored, "w")]
    if operands == "inputs":
        inputs.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, matrix.shape))
        constants = []
    graph = helper.make_graph([node], "product", inputs,
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    file.write_bytes(model.SerializeToString())


class Compiled:
    def __init__(self, file: Path, way: str, inputs: list[np.ndarray], threads: int):
        library = file.with_suffix(f".{way}.so")
        subprocess.run([ROOT / "build" / "tessera", "compile", file, "-o", library, *WAYS[way]],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.model = tessera.Model(library, threads=threads)
        self.inputs = inputs[:len(self.model.inputs)]
        self.times: list[float] = []
        wanted = inputs[0].astype(np.float64) @ inputs[1]
        error = np.abs(self.model(*self.inputs) - wanted).max() / np.abs(wanted).max()
        if error > 1e-5:
            raise SystemExit(f"{way} is wrong by {error} of the largest number")

    def run(self, seconds: float) -> None:
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            start = time.perf_counter()
            self.model(*self.inputs)
            self.times.append(time.perf_counter() - start)


def microseconds(operands: str, rows: int, shape: tuple, options: argparse.Namespace) -> dict:
    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal(s).astype(np.float32) for s in ((rows, shape[0]), shape)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "product.onnx"
        write_model(file, operands, rows, inputs[1])
        ways = {way: Compiled(file, way, inputs, options.threads) for way in WAYS}
        for _ in range(TURNS):
            for each in ways.values():
                each.run(options.seconds / TURNS)
    return {way: statistics.median(each.times) * 1e6 for way, each in ways.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each way")
    parser.add_argument("--operands", default="columns,rows,inputs")
    options = parser.parse_args()
    print("| operands | rows | terms | columns | native us | onednn us | blas us "
          "| onednn / native | blas / native |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for operands in options.operands.split(","):
        for shape in MATRICES:
            for rows in ROWS:
                t = microseconds(operands, rows, shape, options)
                print(f"| {operands} | {rows} | {shape[0]} | {shape[1]} | {t['native']:,.0f} "
                      f"| {t['onednn']:,.0f} | {t['blas']:,.0f} | {t['onednn'] / t['native']:.2f} "
                      f"| {t['blas'] / t['native']:.2f} |", flush=True)


if __name__ == "__main__":
    main()
