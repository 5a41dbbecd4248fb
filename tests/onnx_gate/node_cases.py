#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes all node cases of the Python package onnx in the format of libonnx-testdata, with the
results that come with them.

    node_cases.py OUT_DIR
"""
import sys
import warnings
from pathlib import Path

import numpy as np
from onnx import TensorProto, numpy_helper
from onnx.backend.test.case.node import collect_testcases


def proto_of(value, array) -> TensorProto:
    if isinstance(array, TensorProto):
        return array
    return numpy_helper.from_array(np.asarray(array), value.name)


def write(case, out: Path) -> None:
    graph = case.model.graph
    folder = out / case.name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    # The data of sequences and of optional values are in no format that is read here: a model that
    # has such an input is refused before they are looked at.
    if not all(v.type.HasField("tensor_type") for v in [*graph.input, *graph.output]):
        return
    for index, (inputs, outputs) in enumerate(case.data_sets):
        data_set = folder / f"test_data_set_{index}"
        data_set.mkdir(exist_ok=True)
        for kind, values, arrays in (("input", graph.input, inputs),
                                     ("output", graph.output, outputs)):
            for i, (value, array) in enumerate(zip(values, arrays)):
                (data_set / f"{kind}_{i}.pb").write_bytes(proto_of(value, array)
                                                          .SerializeToString())


def main() -> None:
    out = Path(sys.argv[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = collect_testcases(None)
    for case in cases:
        write(case, out)


if __name__ == "__main__":
    main()
