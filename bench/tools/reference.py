#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes seeded inputs for an ONNX model and computes its outputs with onnxruntime on the CPU, in
float32.

    reference.py MODEL.onnx OUT_DIR [--seed N] [--shape input_ids=1,128 ...]
                 [--dim batch=1 --dim seq=128 ...]

Writes OUT_DIR/inputs/NAME.npy and OUT_DIR/outputs/NAME.npy. Inputs have the model's types: floats
are normal, ids lie within the table that they index, masks are ones with zeros at the tail of each
row but the first. Symbolic sizes are 1 unless --dim or --shape says otherwise (--shape fixes its
symbols for the other inputs too).

A float16 model is computed in float32, from its float16 weights and inputs: its reference has no
rounding but the weights'.
Needs numpy, onnx, onnxruntime.
"""
import argparse
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from hydrate import convert_dtype, parse_dim
from naming import file_name
from onnx import ModelProto, TensorProto, helper

# Operators that may stand between an id and its table.
PASS_THROUGH = {"Cast", "Identity", "Reshape", "Unsqueeze", "Squeeze", "Flatten", "Expand", "Clip"}


def parse_shape(text: str) -> tuple[str, list[int]]:
    name, _, dims = text.partition("=")
    try:
        return name, [int(d) for d in dims.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=D0,D1,...") from None


def index_limit(model: ModelProto, name: str) -> int | None:
    """The size of the smallest constant table that input `name` indexes, if it indexes one."""
    tables = {t.name: t.dims[0] for t in model.graph.initializer if t.dims}
    names, limits = {name}, []
    for node in model.graph.node:  # topologically sorted
        if node.op_type == "Gather" and node.input[1] in names and node.input[0] in tables:
            limits.append(tables[node.input[0]])
        elif node.op_type in PASS_THROUGH and node.input[0] in names:
            names.update(node.output)
    return min(limits, default=None)


def shape_of(value: onnx.ValueInfoProto, shapes: dict[str, list[int]],
             symbols: dict[str, int]) -> list[int]:
    dims = value.type.tensor_type.shape.dim
    if value.name in shapes:
        if len(shapes[value.name]) != len(dims):
            raise SystemExit(f"{value.name} has rank {len(dims)}, not {len(shapes[value.name])}")
        for dim, size in zip(dims, shapes[value.name]):
            if dim.dim_param:
                symbols.setdefault(dim.dim_param, size)
        return shapes[value.name]
    return [dim.dim_value or symbols.get(dim.dim_param, 1) for dim in dims]


def make_input(model: ModelProto, value: onnx.ValueInfoProto, shape: list[int],
               rng: np.random.Generator) -> np.ndarray:
    dtype = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
    if "mask" in value.name:
        mask = np.ones(shape, dtype)
        for row in range(1, shape[0]):
            mask[row, ..., shape[-1] - rng.integers(1, max(2, shape[-1] // 2)):] = 0
        return mask
    if np.issubdtype(dtype, np.integer):
        return rng.integers(0, index_limit(model, value.name) or 100, shape).astype(dtype)
    if dtype == np.bool_:
        return rng.integers(0, 2, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def describe(kind: str, name: str, array: np.ndarray) -> str:
    note = ""
    if array.dtype.kind == "f":
        note = (f" mean {array.mean():.4g} std {array.std():.4g}"
                f" max {np.abs(array).max():.4g}")
    return f"{kind} {name} {array.dtype}{list(array.shape)}{note}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--shape", type=parse_shape, action="append", default=[],
                        metavar="NAME=D0,D1,...")
    parser.add_argument("--dim", type=parse_dim, action="append", default=[], metavar="SYMBOL=SIZE")
    options = parser.parse_args()

    model = onnx.load(options.model, load_external_data=False)
    weights = {t.name for t in model.graph.initializer}
    values = [v for v in model.graph.input if v.name not in weights]
    shapes, symbols = dict(options.shape), dict(options.dim)
    if unknown := shapes.keys() - {v.name for v in values}:
        raise SystemExit(f"no input {', '.join(sorted(unknown))}; "
                         f"the model has: {', '.join(v.name for v in values)}")
    for value in values:  # first the given shapes, which may fix symbols of the others
        if value.name in shapes:
            shape_of(value, shapes, symbols)
    rng = np.random.default_rng(options.seed)
    inputs = {v.name: make_input(model, v, shape_of(v, shapes, symbols), rng) for v in values}

    feeds, source = inputs, str(options.model)
    if any(t.data_type == TensorProto.FLOAT16 for t in model.graph.initializer):
        model = onnx.load(options.model)
        convert_dtype(model, TensorProto.FLOAT16, TensorProto.FLOAT)
        source = model.SerializeToString()
        feeds = {n: x.astype(np.float32) if x.dtype == np.float16 else x
                 for n, x in inputs.items()}
    session = onnxruntime.InferenceSession(source, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    outputs = dict(zip(names, session.run(names, feeds)))

    for kind, tensors in (("inputs", inputs), ("outputs", outputs)):
        folder = options.out / kind
        folder.mkdir(parents=True, exist_ok=True)
        for name, array in tensors.items():
            np.save(folder / file_name(name), array)
            print(describe(kind[:-1], name, array))


if __name__ == "__main__":
    main()
