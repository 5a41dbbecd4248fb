#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Weights that are set on a GPU. With nvcc and no GPU, for the machine that has one:

    check_kept_weights.py make TESSERA DIR     compiles a model with its weights kept, and another
                                               with other weights
    check_kept_weights.py run DIR              on the GPU: the first computes what the second does
                                               once it has its weights, replayed or not
"""
import subprocess
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "abi"))
import ctypes_model as tessera  # noqa: E402

SHAPES = {"w1": (256, 512), "b1": (512,), "w2": (512, 64)}


def weights(seed: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    return {n: random.standard_normal(s, np.float32) / 16 for n, s in SHAPES.items()}


def write_model(path: Path, seed: int) -> None:
    from onnx import TensorProto, helper, numpy_helper, save
    nodes = [helper.make_node("MatMul", ["x", "w1"], ["a"]),
             helper.make_node("Add", ["a", "b1"], ["b"]),
             helper.make_node("Relu", ["b"], ["c"]),
             helper.make_node("MatMul", ["c", "w2"], ["y"])]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [64, 256])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [64, 64])],
        [numpy_helper.from_array(w, n) for n, w in weights(seed).items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    save(model, path)


def make(command: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, seed, options in (("kept", 1, ["--keep-weights", "all"]), ("other", 2, [])):
        write_model(folder / f"{name}.onnx", seed)
        subprocess.run([command, "compile", folder / f"{name}.onnx", "-o", folder / f"{name}.so",
                        "--target", "cuda", "--target", "cutlass", *options], check=True)


def run(folder: Path) -> None:
    x = np.random.default_rng(0).standard_normal((64, 256), np.float32)
    kept, other = tessera.Model(folder / "kept.so"), tessera.Model(folder / "other.so")
    wanted, first = other.run({"x": x})["y"], kept.run({"x": x})["y"]
    failures = 0

    def check(name: str, found: np.ndarray, expected: np.ndarray) -> None:
        nonlocal failures
        error = float(np.abs(found - expected).max() / np.abs(expected).max())
        failures += error > 1e-2
        print(f"{'ok' if error <= 1e-2 else 'WRONG'} {name}: relative error {error:.2g}")

    for _ in range(3):  # from the second on it is recorded
        check("as compiled", kept.run({"x": x})["y"], first)
    for name, value in weights(2).items():
        kept.set_weight(name, value)
    for _ in range(3):
        check("all set", kept.run({"x": x})["y"], wanted)
    for name in SHAPES:
        kept.set_weight(name, None)
    for _ in range(3):
        check("reset", kept.run({"x": x})["y"], first)
    sys.exit(failures > 0)


if __name__ == "__main__":
    make(sys.argv[2], Path(sys.argv[3])) if sys.argv[1] == "make" else run(Path(sys.argv[2]))
