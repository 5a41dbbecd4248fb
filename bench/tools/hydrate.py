#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fills an ONNX skeleton (a real architecture without its weights) with seeded random weights.

    hydrate.py IN.skeleton.onnx OUT.onnx [--seed N] [--dtype fp32|fp16]
               [--dim batch=1 --dim seq=128 ...] [--external]

A skeleton says in its metadata which initializers have no data and how to draw them:
`fill:<tensor> = <mean> <std>`. Everything else (operators, attributes, small and integer constants)
is as the exporter wrote it.

The same seed gives the same bits on every machine and numpy version: the values come from Philox's
raw 64-bit stream, keyed by (seed, SHA-256 of the tensor's name), and each is a sum of four 16-bit
uniforms, which is normal up to 3.46 standard deviations (and has no further tail). float16 weights
are the float32 weights rounded.

--dim      replaces a symbolic dimension by a number and infers the shapes of all values again.
--dtype    fp16 turns a float32 graph into float16 throughout: weights, constants, casts, inputs,
           outputs.
--external puts weights into OUT.onnx.data; needed for models over 2 GB.

Needs numpy and onnx. Prints one line: inputs, outputs, nodes, parameters.
"""
import argparse
import hashlib
from pathlib import Path
from typing import Callable, Iterator

import numpy as np
import onnx
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, helper, \
    numpy_helper, shape_inference

FILL = "fill:"
CHUNK = 1 << 22        # elements drawn at a time
PROTOBUF_LIMIT = 2_000_000_000
ALIGNMENT = 4096       # of tensors in an external file, so that they can be memory-mapped
LANE_SUM_MEAN = 2 * 65535.0
LANE_SUM_STD = ((65536.0**2 - 1) / 3) ** 0.5  # of the sum of four uniform 16-bit integers

# Inputs that ONNX keeps in float32 whatever the data type: operator -> input positions.
FLOAT32_INPUTS = {"Resize": {2}, "Upsample": {1}, "QuantizeLinear": {1}, "DequantizeLinear": {1}}
DATA_FIELDS = ("float_data", "int32_data", "int64_data", "double_data", "uint64_data",
               "string_data")


def draw(name: str, count: int, mean: float, std: float, seed: int) -> Iterator[np.ndarray]:
    """Yields the float32 values of tensor `name`, in chunks."""
    name_key = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")
    stream = np.random.Philox(key=np.array([seed, name_key], np.uint64))
    for start in range(0, count, CHUNK):
        raw = stream.random_raw(min(CHUNK, count - start)).astype("<u8")
        lanes = raw.view("<u2").reshape(-1, 4)
        normal = (lanes.sum(axis=1, dtype=np.int64) - LANE_SUM_MEAN) / LANE_SUM_STD
        yield (normal * std + mean).astype(np.float32)


def freeze_dims(model: ModelProto, sizes: dict[str, int]) -> None:
    """Gives symbolic dimensions a size, everywhere, and infers shapes anew."""
    known: set[str] = set()
    for value in (*model.graph.input, *model.graph.output, *model.graph.value_info):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param.isidentifier():
                known.add(dim.dim_param)
            if dim.dim_param in sizes:
                dim.dim_value = sizes[dim.dim_param]
    if unknown := sizes.keys() - known:
        raise SystemExit(f"no symbolic dimension {', '.join(sorted(unknown))}; "
                         f"the model has: {', '.join(sorted(known)) or 'none'}")
    # What the exporter inferred for symbolic sizes would win over what can be inferred now.
    del model.graph.value_info[:]
    for output in model.graph.output:
        for dim in output.type.tensor_type.shape.dim:
            if dim.WhichOneof("value") == "dim_param":
                dim.Clear()
    model.CopyFrom(shape_inference.infer_shapes(model, data_prop=True))


def graphs(graph: GraphProto) -> Iterator[GraphProto]:
    """The graph and the graphs inside its control-flow nodes."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                if inner.node:
                    yield from graphs(inner)


def convert_dtype(model: ModelProto, source: int = TensorProto.FLOAT,
                  target: int = TensorProto.FLOAT16) -> None:
    """Turns every tensor of type `source` into `target`; initializers without data change their
    type only."""
    dtype = helper.tensor_dtype_to_np_dtype(target)
    limits = np.finfo(dtype)

    def convert(tensor: TensorProto) -> None:
        if tensor.data_type != source:
            return
        if not has_data(tensor):
            tensor.data_type = target
            return
        values = numpy_helper.to_array(tensor)
        # Masks use float32's lowest value, which must not become an infinity; true infinities stay.
        clamped = np.where(np.isinf(values), values, np.clip(values, limits.min, limits.max))
        tensor.CopyFrom(numpy_helper.from_array(clamped.astype(dtype), tensor.name))

    def float32_only(graph: GraphProto) -> set[str]:
        return {n.input[i] for n in graph.node for i in FLOAT32_INPUTS.get(n.op_type, ())
                if i < len(n.input)}

    for graph in graphs(model.graph):
        kept = float32_only(graph)
        for tensor in graph.initializer:
            if tensor.name not in kept:
                convert(tensor)
        for value in (*graph.input, *graph.output, *graph.value_info):
            if value.type.tensor_type.elem_type == source and value.name not in kept:
                value.type.tensor_type.elem_type = target
        for node in graph.node:
            if not kept.intersection(node.output):
                convert_attributes(node, convert, source, target)


def convert_attributes(node: NodeProto, convert: Callable[[TensorProto], None], source: int,
                       target: int) -> None:
    """Converts the tensors and types that a node carries as attributes."""
    if node.op_type == "ConstantOfShape" and not node.attribute:  # float32 zero, unless told
        zero = numpy_helper.from_array(np.zeros(1, np.float32))
        node.attribute.append(helper.make_attribute("value", zero))
    for attribute in node.attribute:
        if attribute.type == AttributeProto.TENSOR:
            convert(attribute.t)
        elif attribute.name in ("to", "dtype") and attribute.i == source:  # Cast ...
            attribute.i = target
        elif node.op_type == "Constant" and attribute.name in ("value_float", "value_floats"):
            scalar = attribute.name == "value_float"
            values = np.array(attribute.f if scalar else attribute.floats, np.float32)
            attribute.CopyFrom(helper.make_attribute("value", numpy_helper.from_array(values)))
            convert(attribute.t)


def has_data(tensor: TensorProto) -> bool:
    stored = tensor.raw_data or tensor.external_data or any(getattr(tensor, f) for f in DATA_FIELDS)
    return bool(stored) or 0 in tensor.dims


def byte_size(tensor: TensorProto) -> int:
    return int(np.prod(tensor.dims)) * helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize


def fill(model: ModelProto, fills: dict[str, tuple[float, float]], seed: int,
         external: Path | None) -> None:
    """Draws every initializer that has no data, into the model or into the file `external`."""
    side = external.open("wb") if external else None
    for tensor in model.graph.initializer:
        if has_data(tensor):
            continue
        if tensor.name not in fills:
            raise SystemExit(f"{tensor.name} has no data and no '{FILL}' entry")
        dtype = helper.tensor_dtype_to_np_dtype(tensor.data_type)
        values = draw(tensor.name, int(np.prod(tensor.dims)), *fills[tensor.name], seed)
        chunks = (c.astype(dtype).tobytes() for c in values)
        if side is None:
            tensor.raw_data = b"".join(chunks)
            continue
        side.write(bytes(-side.tell() % ALIGNMENT))
        offset = side.tell()
        for chunk in chunks:
            side.write(chunk)
        tensor.data_location = TensorProto.EXTERNAL
        where = {"location": external.name, "offset": offset, "length": side.tell() - offset}
        for key, value in where.items():
            tensor.external_data.add(key=key, value=str(value))
    if side:
        side.close()


def take_fills(model: ModelProto) -> dict[str, tuple[float, float]]:
    """Removes the skeleton's metadata from the model and returns name -> (mean, std)."""
    entries = {p.key: p.value for p in model.metadata_props}
    if entries.pop("skeleton", None) != "1":
        raise SystemExit("not a skeleton: its metadata lack 'skeleton=1'")
    fills = {k.removeprefix(FILL): tuple(map(float, v.split()))
             for k, v in entries.items() if k.startswith(FILL)}
    del model.metadata_props[:]
    for key, value in entries.items():
        if not key.startswith(FILL):
            model.metadata_props.add(key=key, value=value)
    return fills


def describe(value: onnx.ValueInfoProto) -> str:
    tensor = value.type.tensor_type
    dims = ",".join(d.dim_param or str(d.dim_value) if d.WhichOneof("value") else "?"
                    for d in tensor.shape.dim)
    return f"{value.name}:{TensorProto.DataType.Name(tensor.elem_type).lower()}[{dims}]"


def parse_dim(text: str) -> tuple[str, int]:
    name, _, size = text.partition("=")
    if not name or not size.isdigit() or int(size) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=SIZE")
    return name, int(size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("skeleton", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dtype", choices=("fp32", "fp16"), default="fp32")
    parser.add_argument("--dim", type=parse_dim, action="append", default=[], metavar="NAME=SIZE")
    parser.add_argument("--external", action="store_true")
    options = parser.parse_args()

    model = onnx.load(options.skeleton)
    fills = take_fills(model)
    if options.dim:
        freeze_dims(model, dict(options.dim))
    if options.dtype == "fp16":
        convert_dtype(model)
    if not options.external and sum(map(byte_size, model.graph.initializer)) > PROTOBUF_LIMIT:
        raise SystemExit("the weights exceed 2 GB, which one ONNX file cannot hold: add --external")
    model.metadata_props.add(key="hydrated", value=f"seed {options.seed} {options.dtype}")
    side = options.out.with_name(options.out.name + ".data") if options.external else None
    fill(model, fills, options.seed, side)
    onnx.save(model, options.out)
    parameters = sum(int(np.prod(t.dims)) for t in model.graph.initializer)
    print(f"{options.out}: {' '.join(map(describe, model.graph.input))} -> "
          f"{' '.join(map(describe, model.graph.output))}, {len(model.graph.node)} nodes, "
          f"{parameters / 1e6:.1f} M parameters")


if __name__ == "__main__":
    main()
