#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes model.onnx with 2.4 GB of weights beside it, an input, and the output that NumPy computes.

    make_model.py FOLDER
"""
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

LAYERS, SIZE, ROWS = 6, 10000, 2  # 400 MB a layer


def main(folder: Path) -> None:
    random = np.random.default_rng(7)
    x = random.standard_normal((ROWS, SIZE), dtype=np.float32)
    nodes, weights, value = [], [], x
    with open(folder / "weights.bin", "wb") as file:
        for i in range(LAYERS):
            weight = random.standard_normal((SIZE, SIZE), dtype=np.float32) / np.sqrt(SIZE)
            weight = weight.astype(np.float32)
            tensor = TensorProto(name=f"w{i}", data_type=TensorProto.FLOAT, dims=weight.shape,
                                 data_location=TensorProto.EXTERNAL)
            place = {"location": "weights.bin", "offset": file.tell(), "length": weight.nbytes}
            for key, text in place.items():
                tensor.external_data.add(key=key, value=str(text))
            weight.tofile(file)
            weights.append(tensor)
            source = f"y{i - 1}" if i else "x"
            nodes.append(helper.make_node("MatMul", [source, f"w{i}"], [f"y{i}"], f"layer{i}"))
            value = value @ weight
    result = f"y{LAYERS - 1}"
    graph = helper.make_graph(
        nodes, "large", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info(result, TensorProto.FLOAT, value.shape)], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]),
              folder / "model.onnx")
    for name, tensor in ("inputs/x", x), (f"outputs/{result}", value):
        (folder / name).parent.mkdir(exist_ok=True)
        np.save(folder / f"{name}.npy", tensor)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
