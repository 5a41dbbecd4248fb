#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the cases of the Python package onnx for operators that Debian's libonnx-testdata is too
old for, in its format: those whose models have one node, with its own results.

    node_cases.py OUT_DIR
"""
import sys
import warnings
from pathlib import Path

import numpy as np
from onnx import TensorProto, numpy_helper
from onnx.backend.test.case.node import collect_testcases

OPERATORS = ("Attention", "RotaryEmbedding", "TensorScatter", "Swish", "RMSNormalization")
NEWEST_OPSET = 27
TYPES = {TensorProto.DataType.Value(name) for name in
         ("FLOAT", "FLOAT16", "BFLOAT16", "DOUBLE", "BOOL", "INT8", "INT16", "INT32", "INT64",
          "UINT8", "UINT16")}


def is_chosen(case) -> bool:
    graph = case.model.graph
    values = [*graph.input, *graph.output]
    return (len(graph.node) == 1 and graph.node[0].op_type in OPERATORS
            and case.model.opset_import[0].version <= NEWEST_OPSET
            and all(v.type.tensor_type.elem_type in TYPES for v in values))


def write(case, out: Path) -> None:
    for index, (inputs, outputs) in enumerate(case.data_sets):
        folder = out / case.name / f"test_data_set_{index}"
        folder.mkdir(parents=True, exist_ok=True)
        graph = case.model.graph
        for kind, values, arrays in (("input", graph.input, inputs),
                                     ("output", graph.output, outputs)):
            for i, (value, array) in enumerate(zip(values, arrays)):
                proto = (array if isinstance(array, TensorProto)
                         else numpy_helper.from_array(np.asarray(array), value.name))
                (folder / f"{kind}_{i}.pb").write_bytes(proto.SerializeToString())
    (out / case.name / "model.onnx").write_bytes(case.model.SerializeToString())


def main() -> None:
    out = Path(sys.argv[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = collect_testcases(None)
    for case in cases:
        if is_chosen(case):
            write(case, out)


if __name__ == "__main__":
    main()
