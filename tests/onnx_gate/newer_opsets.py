#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes small model cases of the opsets 18 to 24, which Debian's libonnx-testdata does not have,
of onnxruntime's own operators, and graphs with branches and loops, in its format, with the results
of onnxruntime.

    newer_opsets.py OUT_DIR
"""
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from graph_texts import TEXTS, text_of
from onnx import TensorProto, helper, numpy_helper

onnxruntime.set_default_logger_severity(4)


@dataclass
class Case:
    """One node. Arrays in `fixed` become initializers, those in `inputs` the model's inputs."""
    op: str
    opset: int
    inputs: dict[str, np.ndarray]
    fixed: dict[str, np.ndarray] = field(default_factory=dict)
    attributes: dict = field(default_factory=dict)
    operands: list[str] | None = None  # names in order; "" leaves one out
    outputs: int = 1
    results: list[str] | None = None  # of the outputs; "" leaves one out
    tag: str = ""
    domain: str = ""


def floats(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def small(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


def bytes_of(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, shape, np.uint8)


X = floats(2, 3, 8, 9)
ANGLES = np.arange(32)[:, None] * 100.0 ** (-np.arange(8) / 8)[None]
COS, SIN = np.cos(ANGLES).astype(np.float32), np.sin(ANGLES).astype(np.float32)
ROWS = {"q": floats(2, 3, 16), "k": floats(2, 3, 16, seed=1), "v": floats(2, 3, 16, seed=2)}
CACHES = {"pk": floats(2, 2, 9, 16, seed=4), "pv": floats(2, 2, 9, 16, seed=5)}

CASES = [
    # 18
    Case("BitwiseAnd", 18, {"a": np.arange(6, dtype=np.int32),
         "b": np.arange(6, dtype=np.int32)[::-1].copy()}),
    Case("BitwiseXor", 18, {"a": np.arange(6, dtype=np.uint8), "b": np.full(6, 5, np.uint8)}),
    Case("BitwiseNot", 18, {"a": np.arange(6, dtype=np.int8)}),
    Case("CenterCropPad", 18, {"x": floats(5, 8, 3)}, {"shape": ints(7, 5, 3)}),
    Case("CenterCropPad", 18, {"x": floats(5, 8, 3)}, {"shape": ints(4, 6)}, {"axes": [2, 0]},
         tag="axes"),
    Case("Col2Im", 18, {"x": floats(2, 10, 15)}, {"image": ints(5, 5), "block": ints(1, 5)},
         {"strides": [1, 1], "pads": [0, 1, 0, 1]}),
    Case("Col2Im", 18, {"x": floats(1, 18, 4)}, {"image": ints(6, 6), "block": ints(3, 3)},
         {"strides": [2, 2], "dilations": [1, 1], "pads": [0, 0, 0, 0]}, tag="strides"),
    Case("LpPool", 18, {"x": X}, attributes={"kernel_shape": [3, 2], "strides": [2, 2], "p": 3}),
    Case("Mish", 18, {"x": floats(3, 4)}),
    Case("Pad", 18, {"x": floats(3, 4, 5)}, {"pads": ints(1, 2), "axes": ints(-1)},
         operands=["x", "pads", "", "axes"], tag="axes"),
    Case("ReduceMean", 18, {"x": X}, {"axes": ints(1, -1)}, {"keepdims": 0}),
    Case("ReduceL2", 18, {"x": X}, {"axes": ints(2)}),
    Case("ReduceLogSumExp", 18, {"x": 200 * X}, {"axes": ints(0, 3)}),
    Case("ReduceLogSumExp", 18,
         {"x": np.array([[-np.inf, -np.inf], [np.inf, 0], [1, 2]], np.float32)}, {"axes": ints(1)},
         tag="infinite"),
    Case("ReduceMean", 18, {"x": np.full((2, 2), 2**31 - 1, np.int32)}, {"axes": ints(1)},
         tag="wide_sum"),
    Case("ReduceSumSquare", 18, {"x": X}, attributes={"noop_with_empty_axes": 1}),
    Case("Resize", 18, {"x": X}, {"scales": np.array([0.6, 1.7], np.float32)},
         {"axes": [3, 2], "mode": "linear"}, ["x", "", "scales"], tag="axes"),
    Case("Resize", 18, {"x": X}, {"sizes": ints(4, 5)},
         {"axes": [2, 3], "mode": "linear", "antialias": 1}, ["x", "", "", "sizes"],
         tag="antialias"),
    Case("Resize", 18, {"x": X}, {"sizes": ints(4, 5)},
         {"axes": [2, 3], "mode": "cubic", "antialias": 1}, ["x", "", "", "sizes"],
         tag="antialias_cubic"),
    Case("Resize", 18, {"x": X}, {"sizes": ints(20, 20)},
         {"axes": [2, 3], "mode": "nearest", "keep_aspect_ratio_policy": "not_larger"},
         ["x", "", "", "sizes"], tag="aspect"),
    Case("ScatterElements", 18, {"x": floats(4, 5), "u": floats(2, 5, seed=1)},
         {"i": np.array([[0, 1, 2, 3, 0], [0, 0, 2, 1, -1]])}, {"reduction": "max"},
         ["x", "i", "u"]),
    Case("ScatterND", 18, {"x": floats(4, 5), "u": floats(3, 5, seed=1)},
         {"i": np.array([[0], [2], [0]])}, {"reduction": "min"}, ["x", "i", "u"]),
    Case("Split", 18, {"x": floats(7, 2)}, attributes={"num_outputs": 3, "axis": 0}, outputs=3),
    # 19
    Case("Pad", 19, {"x": floats(4, 5)}, {"pads": ints(-1, 2, 2, -3)}, {"mode": "wrap"},
         tag="wrap_cropped"),
    Case("DynamicQuantizeLinear", 19, {"x": np.zeros(4, np.float32)}, outputs=3, tag="zeros"),
    Case("AveragePool", 19, {"x": X}, attributes={"kernel_shape": [2, 3], "dilations": [2, 2],
                                                   "pads": [1, 1, 1, 1], "count_include_pad": 1}),
    Case("AveragePool", 19, {"x": X}, attributes={"kernel_shape": [3, 3], "strides": [2, 2],
                                                   "ceil_mode": 1, "pads": [1, 1, 1, 1]},
         tag="ceil"),
    Case("Cast", 19, {"x": 3 * floats(2, 3)}, attributes={"to": TensorProto.FLOAT16}),
    Case("Equal", 19, {"a": floats(3), "b": floats(3)}),
    Case("Pad", 19, {"x": floats(3, 4)}, {"pads": ints(1, 3, 2, 2)}, {"mode": "wrap"}, tag="wrap"),
    Case("Resize", 19, {"x": X}, {"scales": np.array([0.3, 2.3], np.float32)},
         {"axes": [2, 3], "mode": "linear",
         "coordinate_transformation_mode": "half_pixel_symmetric"},
         ["x", "", "scales"], tag="symmetric"),
    Case("Reshape", 19, {"x": floats(2, 3, 4)}, {"shape": ints(0, -1)}),
    # 20
    Case("AffineGrid", 20, {"theta": floats(2, 2, 3)}, {"size": ints(2, 3, 4, 5)}),
    Case("AffineGrid", 20, {"theta": floats(1, 3, 4)}, {"size": ints(1, 2, 3, 4, 5)},
         {"align_corners": 1}, tag="volume"),
    Case("DFT", 20, {"x": floats(2, 10, 1)}, attributes={"onesided": 1}),
    Case("DFT", 20, {"x": floats(2, 3, 8, 2)}, {"axis": ints(1)[0]}, {"inverse": 1},
         ["x", "", "axis"],
         tag="inverse"),
    Case("Gelu", 20, {"x": floats(3, 4)}),
    Case("Gelu", 20, {"x": floats(3, 4)}, attributes={"approximate": "tanh"}, tag="tanh"),
    Case("GridSample", 20, {"x": X, "grid": np.clip(floats(2, 4, 5, 2, seed=2), -1.4, 1.4)},
         attributes={"mode": "linear", "padding_mode": "border"}),
    Case("GridSample", 20, {"x": X, "grid": np.clip(floats(2, 4, 5, 2, seed=2), -1.4, 1.4)},
         attributes={"mode": "cubic", "padding_mode": "reflection", "align_corners": 1},
         tag="cubic"),
    Case("IsInf", 20, {"x": np.array([1, np.inf, -np.inf, np.nan], np.float32)},
         attributes={"detect_negative": 0}),
    Case("ReduceMax", 20, {"x": floats(3, 4) > 0.5}, {"axes": ints(1)}),
    Case("ReduceMin", 20, {"x": floats(3, 4) > -0.5}, {"axes": ints(0)}),
    # 21
    Case("GroupNormalization", 21, {"x": floats(2, 6, 4), "scale": floats(6, seed=1),
         "bias": floats(6, seed=2)},
         attributes={"num_groups": 3}),
    Case("QuantizeLinear", 21, {"x": 4 * floats(4, 6)},
         {"scale": np.abs(floats(2, 6, seed=1)) + 0.1,
         "zero": np.array([[3] * 6, [-4] * 6], np.int8)},
         {"axis": 0, "block_size": 2}, tag="blocked"),
    Case("DequantizeLinear", 21, {"x": np.arange(24, dtype=np.int8).reshape(4, 6)},
         {"scale": np.abs(floats(4, 2, seed=1))}, {"axis": 1, "block_size": 3}, tag="blocked"),
    Case("DequantizeLinear", 21, {"x": np.arange(24, dtype=np.uint16).reshape(4, 6)},
         {"scale": np.float32(0.3), "zero": np.uint16(7)}, tag="uint16"),
    Case("Transpose", 21, {"x": floats(2, 3, 4)}, attributes={"perm": [2, 0, 1]}),
    Case("Squeeze", 21, {"x": floats(1, 3, 1)}, {"axes": ints(-1)}),
    Case("LayerNormalization", 21, {"x": floats(2, 3, 4), "s": floats(3, 4, seed=1),
         "b": floats(3, 4, seed=2)},
         attributes={"axis": 1}),
    Case("LayerNormalization", 21, {"x": floats(2, 3, 4), "s": floats(4, seed=1)}, outputs=3,
         tag="statistics"),
    # 23
    Case("RMSNormalization", 23, {"x": floats(2, 3, 4), "s": floats(4, seed=1)}),
    Case("RMSNormalization", 23, {"x": floats(2, 3, 4), "s": floats(3, 4, seed=1)},
         attributes={"axis": 1, "epsilon": 0.25}, tag="axis"),
    # onnxruntime's
    Case("SimplifiedLayerNormalization", 17, {"x": floats(2, 3, 4), "s": floats(4, seed=1)},
         attributes={"epsilon": 0.125}, outputs=2),
    Case("SimplifiedLayerNormalization", 17,
         {"x": floats(2, 3, 4).astype(np.float16), "s": floats(4, seed=1)}, tag="wider_scale"),
    Case("SimplifiedLayerNormalization", 17,
         {"x": floats(2, 3, 4), "s": floats(4, seed=1).astype(np.float16)}, tag="narrower_scale"),
    Case("SkipLayerNormalization", 17, {"x": floats(2, 3, 4), "r": floats(2, 3, 4, seed=1),
         "s": floats(4, seed=2), "b": floats(4, seed=3)},
         attributes={"epsilon": 1e-5}, domain="com.microsoft"),
    Case("SkipLayerNormalization", 17, {"x": floats(2, 3, 4), "r": floats(3, 4, seed=1),
         "s": floats(4, seed=2), "c": floats(4, seed=3)}, operands=["x", "r", "s", "", "c"],
         results=["y", "", "", "sum"], domain="com.microsoft", tag="sum"),
    Case("SkipSimplifiedLayerNormalization", 17,
         {"x": floats(2, 3, 4), "r": floats(2, 3, 4, seed=1), "s": floats(4, seed=2)},
         domain="com.microsoft"),
    Case("SkipSimplifiedLayerNormalization", 17,
         {"x": floats(2, 3, 4), "r": floats(2, 3, 4, seed=1), "s": floats(4, seed=2),
          "c": floats(4, seed=3)}, attributes={"epsilon": 0.125}, results=["y", "", "", "sum"],
         domain="com.microsoft", tag="sum"),
    Case("RotaryEmbedding", 17, {"x": floats(2, 3, 32), "at": ints(5)}, {"cos": COS, "sin": SIN},
         {"interleaved": 1}, domain="com.microsoft", tag="contrib"),
    Case("RotaryEmbedding", 17, {"x": floats(1, 2, 3, 24), "at": ints(4, 0, 31).reshape(1, 3)},
         {"cos": COS, "sin": SIN}, {"num_heads": 2, "rotary_embedding_dim": 16},
         domain="com.microsoft", tag="contrib_part"),
    Case("MultiHeadAttention", 17, {**ROWS, "b": floats(48, seed=3), "m": small(2, 3)},
         attributes={"num_heads": 2}, domain="com.microsoft", tag="bias"),
    Case("MultiHeadAttention", 17,
         {**ROWS, "m": small(*[1, 1, 0, 1, 1], *[0, 1, 1, 1, 1]).reshape(2, 5),
          "s": floats(1, 2, 3, 5, seed=3), "pk": floats(2, 2, 2, 8, seed=4),
          "pv": floats(2, 2, 2, 8, seed=5)},
         operands=["q", "k", "v", "", "m", "s", "pk", "pv"],
         attributes={"num_heads": 2, "unidirectional": 1}, outputs=3, domain="com.microsoft",
         tag="past"),
    # One token of sequences that fill a shared buffer: what follows a sequence may be anything.
    Case("GroupQueryAttention", 17, {"q": floats(2, 1, 128), **CACHES, "last": small(8, 8)},
         {"all": np.array(9, np.int32), "cos": COS, "sin": SIN},
         {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1},
         ["q", "", "", "pk", "pv", "last", "all", "cos", "sin"], 3, domain="com.microsoft",
         tag="step"),
    Case("GroupQueryAttention", 17,
         {"q": floats(1, 5, 64), "k": floats(1, 5, 32, seed=1), "v": floats(1, 5, 32, seed=2),
          "pk": floats(1, 2, 0, 16), "pv": floats(1, 2, 0, 16), "last": small(4),
          "all": np.array(5, np.int32)},
         attributes={"num_heads": 4, "kv_num_heads": 2, "softcap": 2.0}, outputs=3,
         domain="com.microsoft", tag="prompt"),
    Case("MatMulNBits", 17, {"x": floats(2, 3, 40)},
         {"w": bytes_of(5, 3, 8), "s": floats(5, 3, seed=1), "z": bytes_of(5, 2, seed=2)},
         {"K": 40, "N": 5, "block_size": 16, "bits": 4}, domain="com.microsoft", tag="zero"),
    Case("MatMulNBits", 17, {"x": floats(3, 32)},
         {"w": bytes_of(5, 1, 32), "s": floats(5, 1, seed=1), "b": floats(5, seed=2)},
         {"K": 32, "N": 5, "block_size": 32, "bits": 8}, ["x", "w", "s", "", "", "b"],
         domain="com.microsoft", tag="bias"),
    Case("GatherBlockQuantized", 17, {"i": ints(4, 0, -1).reshape(3, 1)},
         {"w": bytes_of(6, 16), "s": floats(6, 2, seed=1)}, {"block_size": 16, "bits": 4},
         ["w", "i", "s"], domain="com.microsoft"),
]


def graph(nodes: list, inputs: dict[str, tuple], outputs: dict[str, tuple], **constants):
    """A graph; types are (shape, element type). The constants are its initializers."""
    def values(described):
        return [helper.make_tensor_value_info(n, t[1], t[0]) for n, t in described.items()]
    return helper.make_graph(nodes, "graph", values(inputs), values(outputs),
                             [numpy_helper.from_array(np.asarray(v), n)
                              for n, v in constants.items()])


def node(op: str, inputs: str, outputs: str, **attributes) -> onnx.NodeProto:
    """Names in order, separated by spaces; `-` leaves one out."""
    def names(text):
        return [n.replace("-", "") for n in text.split()]
    return helper.make_node(op, names(inputs), names(outputs), **attributes)


FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
V = ((3,), FLOAT)  # a vector
TRUE, FALSE = np.array(True), np.array(False)


def branches() -> onnx.GraphProto:
    """A captured value, a constant, an outer initializer, an input, one value twice; nested."""
    nested = node("If", "d", "n", then_branch=graph([node("Exp", "s", "e")], {}, {"e": V}),
                  else_branch=graph([node("Add", "x k", "a")], {}, {"a": V},
                                    k=np.array([1, 2, 3], np.float32)))
    yes = graph([nested, node("Mul", "n s", "m"), node("Identity", "w", "w1"),
                 node("Identity", "s", "s1")], {}, {"m": V, "w1": V, "s1": V})
    copies = [node("Identity", "x", "i"), node("Identity", "w", "j"), node("Identity", "i", "k")]
    no = graph(copies, {}, {"i": V, "j": V, "k": V})
    return graph([node("Add", "x w", "s"),
                  node("If", "c", "p q r", then_branch=yes, else_branch=no),
                  node("Sum", "p q r s", "y")],
                 {"c": ((), BOOL), "d": ((), BOOL), "x": V}, {"y": V, "q": V},
                 w=np.array([0.5, -1, 2], np.float32))


def counted(trips, condition=None) -> onnx.GraphProto:
    """Two carried values that change places, a scan output of each, a captured vector."""
    body = graph([node("Add", "a x", "b2"), node("Cast", "i", "f", to=FLOAT),
                  node("Mul", "b f", "a2"), node("Identity", "b2", "row"),
                  node("Identity", "go", "again")],
                 {"i": ((), INT64), "go": ((), BOOL), "a": V, "b": V},
                 {"again": ((), BOOL), "a2": V, "b2": V, "row": V, "f": ((), FLOAT)})
    constants = {"n": np.array(trips)}
    if condition is not None:
        constants["t"] = condition
    operands = "n - x y" if condition is None else "n t x y"
    return graph([node("Loop", operands, "p q r f", body=body)], {"x": V, "y": V},
                 {"p": V, "q": V, "r": ((trips, 3), FLOAT), "f": ((trips,), FLOAT)}, **constants)


def until() -> onnx.GraphProto:
    """Ends by its condition, which is computed; the trip count is an input of rank 1."""
    body = graph([node("Mul", "a two", "a2"), node("ReduceSum", "a2", "s", keepdims=0),
                  node("Less", "s most", "again")],
                 {"i": ((), INT64), "go": ((), BOOL), "a": V}, {"again": ((), BOOL), "a2": V},
                 two=np.array(2, np.float32))
    return graph([node("ReduceSum", "x", "first", keepdims=0), node("Less", "first most", "t"),
                  node("Loop", "n t x", "y", body=body)],
                 {"x": V, "n": ((1,), INT64)}, {"y": V}, most=np.array(50, np.float32))


def nested_loops() -> onnx.GraphProto:
    """A loop whose body loops as often as it has gone round, and branches on what it carries."""
    step = graph([node("Add", "u x", "u2"), node("Identity", "ci", "co")],
                 {"j": ((), INT64), "ci": ((), BOOL), "u": V}, {"co": ((), BOOL), "u2": V})
    yes = graph([node("Neg", "v", "m")], {}, {"m": V})
    no = graph([node("Identity", "v", "m2")], {}, {"m2": V})
    body = graph([node("Loop", "i - a", "v", body=step), node("ReduceMax", "v", "l", keepdims=0),
                  node("Greater", "l limit", "big"),
                  node("If", "big", "a2", then_branch=yes, else_branch=no),
                  node("Identity", "go", "again")],
                 {"i": ((), INT64), "go": ((), BOOL), "a": V}, {"again": ((), BOOL), "a2": V},
                 limit=np.array(8, np.float32))
    return graph([node("Loop", "n - x", "y", body=body)], {"x": V}, {"y": V}, n=np.array(6))


def scan(**attributes) -> onnx.GraphProto:
    body = graph([node("Add", "s u", "s2"), node("Mul", "s2 v", "r"), node("Add", "r w", "z")],
                 {"s": V, "u": V, "v": V}, {"s2": V, "z": V, "r": V})
    turned = (3, 4) if attributes else (4, 3)
    loop = node("Scan", "x a b", "y rows others", body=body, num_scan_inputs=2, **attributes)
    return graph([loop], {"x": V, "a": ((4, 3), FLOAT), "b": (turned, FLOAT)},
                 {"y": V, "rows": (turned, FLOAT), "others": ((4, 3), FLOAT)},
                 w=np.array([1, -1, 2], np.float32))


X3, Y3 = floats(3), floats(3, seed=1)

# Whole graphs: name, opset, graph, inputs.
GRAPHS = [
    *((f"if_{c}_{d}", opset, branches(), {"c": np.array(c), "d": np.array(d), "x": X3})
      for opset, c, d in ((11, True, True), (13, True, False), (16, False, True),
                          (21, False, False))),
    ("loop_counted", 11, counted(5), {"x": X3, "y": Y3}),
    ("loop_condition", 13, counted(4, TRUE), {"x": X3, "y": Y3}),
    ("loop_until", 13, until(), {"x": np.abs(X3) + 1, "n": ints(100)}),
    ("loop_until_count", 16, until(), {"x": np.abs(X3) + 1, "n": ints(2)}),
    ("loop_never", 16, until(), {"x": np.abs(X3) + 100, "n": ints(2)}),
    ("loop_nested", 19, nested_loops(), {"x": np.abs(X3) + 1}),
    ("scan", 9, scan(), {"x": X3, "a": floats(4, 3), "b": floats(4, 3, seed=2)}),
    ("scan_axes", 16, scan(scan_input_axes=[0, 1], scan_input_directions=[1, 0],
                           scan_output_axes=[-1, 0], scan_output_directions=[0, 1]),
     {"x": X3, "a": floats(4, 3), "b": floats(3, 4, seed=2)}),
]


def model_of(case: Case) -> onnx.ModelProto:
    names = case.operands if case.operands is not None else [*case.inputs, *case.fixed]
    results = case.results or [f"y{i}" for i in range(case.outputs)]
    node = helper.make_node(case.op, names, results, name="node", domain=case.domain,
                            **case.attributes)
    inputs = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
              for n, a in case.inputs.items()]
    fixed = [numpy_helper.from_array(np.asarray(a), n) for n, a in case.fixed.items()]
    outputs = [onnx.ValueInfoProto(name=r) for r in results if r]
    graph = helper.make_graph([node], "case", inputs, outputs, fixed)
    opsets = [helper.make_opsetid("", case.opset)]
    if case.domain:
        opsets.append(helper.make_opsetid(case.domain, 1))
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    # Output types are ONNX's own inference; a result's shape is not needed.
    return onnx.shape_inference.infer_shapes(model, strict_mode=False)


def write(name: str, model: onnx.ModelProto, inputs: dict[str, np.ndarray], out: Path) -> None:
    session = onnxruntime.InferenceSession(model.SerializeToString(),
                                           providers=["CPUExecutionProvider"])
    results = session.run(None, inputs)
    folder = out / name / "test_data_set_0"
    folder.mkdir(parents=True, exist_ok=True)
    (out / name / "model.onnx").write_bytes(model.SerializeToString())
    names = [o.name for o in model.graph.output]
    for kind, arrays in (("input", list(inputs.items())),
                         ("output", list(zip(names, results)))):
        for i, (tensor, array) in enumerate(arrays):
            proto = numpy_helper.from_array(np.asarray(array), tensor)
            (folder / f"{kind}_{i}.pb").write_bytes(proto.SerializeToString())


def main() -> None:
    out = Path(sys.argv[1])
    for case in CASES:
        name = f"opset{case.opset}_{case.op.lower()}" + (f"_{case.tag}" if case.tag else "")
        write(name, model_of(case), case.inputs, out)
    for name, opset, contents, inputs in GRAPHS:
        model = helper.make_model(contents, opset_imports=[helper.make_opsetid("", opset)],
                                  ir_version=8)
        write(f"opset{opset}_{name.lower()}", model, inputs, out)
    for name, (opset, _, _, inputs) in TEXTS.items():
        write(f"opset{opset}_{name}", onnx.parser.parse_model(text_of(name)), inputs, out)


if __name__ == "__main__":
    main()
