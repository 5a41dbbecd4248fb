# SPDX-License-Identifier: Apache-2.0
"""Values that are read at two places, again and again: x = (x + f(x)) / 2 sixteen times. A compiler
that writes each value where it is read writes the first one 2^16 times."""
import numpy as np
from onnx import helper, numpy_helper

from making.model import Model, floats

STEPS = 16
node = helper.make_node


def constants() -> dict:
    random = np.random.RandomState(3)
    row = np.array([3, 1, 0, 2, 5, 4])
    return {
        "half": np.float32(0.5), "row": row, "rows": np.tile(row, (6, 1)),
        "places": np.stack([random.randint(0, 6, 36), random.randint(0, 6, 36)], 1),
        "axes": np.array([0, 1]), "back": np.array([-1, -1]), "far": np.array([-7, -7]),
        "zeros": np.array([0, 0]), "ones": np.array([1, 1]), "sixes": np.array([6, 6]),
        "sevens": np.array([7, 7]), "border": np.array([1, 1, 1, 1]), "zero": np.array(0),
        "twice": np.array([2, 2]), "scales": np.array([2, 2], np.float32),
        "lengths": np.array([6, 5, 4, 3, 2, 1]), "six": np.array([6]), "flat": np.array([36]),
        "image": np.array([1, 1, 6, 6]), "channels": np.array([1, 4, 3, 3]),
    }


def padded(mode: str):
    def step(p, q, i):
        return [node("Pad", [p, "border"], [f"{q}a"], mode=mode),
                node("Slice", [f"{q}a", "ones", "sevens", "axes"], [f"{q}b"]),
                node("Slice", [f"{q}a", "zeros", "sixes", "axes"], [f"{q}c"]),
                node("Sub", [f"{q}b", f"{q}c"], [q])]
    return step


def resized(mode: str):
    def step(p, q, i):
        return [node("Resize", [p, "", "scales"], [f"{q}a"], mode=mode),
                node("Slice", [f"{q}a", "ones", "sevens", "axes"], [q])]
    return step


def of_image(op: str, shape: str, **attributes):
    def step(p, q, i):
        return [node("Reshape", [p, shape], [f"{q}a"]),
                node(op, [f"{q}a"], [f"{q}b"], **attributes),
                node("Reshape", [f"{q}b", "sixes"], [q])]
    return step


def where(p, q, i):
    return [node("Less", [p, "half"], [f"{q}a"]), node("Sin", [p], [f"{q}b"]),
            node("Where", [f"{q}a", f"{q}b", p], [q])]


def halves_exchanged(p, q, i):
    return [node("Split", [p], [f"{q}a", f"{q}b"], axis=i % 2),
            node("Concat", [f"{q}b", f"{q}a"], [q], axis=i % 2)]


def row_of_the_largest(p, q, i):
    return [node("ArgMax", [p], [f"{q}a"], axis=0, keepdims=0),
            node("Gather", [p, f"{q}a"], [q], axis=0)]


def transposed_flat(p, q, i):
    return [node("Transpose", [p], [f"{q}a"]), node("Reshape", [f"{q}a", "flat"], [f"{q}b"]),
            node("Reshape", [f"{q}b", "sixes"], [q])]


STEP = {
    "transpose": lambda p, q, i: [node("Transpose", [p], [q])],
    "flip": lambda p, q, i: [node("Slice", [p, "back", "far", "axes", "back"], [q])],
    "gather": lambda p, q, i: [node("Gather", [p, "row"], [q], axis=i % 2)],
    "gather_elements": lambda p, q, i: [node("GatherElements", [p, "rows"], [q], axis=i % 2)],
    "gather_nd": lambda p, q, i: [node("GatherND", [p, "places"], [f"{q}a"]),
                                  node("Reshape", [f"{q}a", "sixes"], [q])],
    "scatter": lambda p, q, i: [node("ScatterElements", [p, "rows", p], [q], axis=i % 2)],
    "pad_reflect": padded("reflect"), "pad_edge": padded("edge"), "pad_zeros": padded("constant"),
    "resize_nearest": resized("nearest"), "resize_linear": resized("linear"),
    "tile": lambda p, q, i: [node("Tile", [p, "twice"], [f"{q}a"]),
                             node("Slice", [f"{q}a", "ones", "sevens", "axes"], [q])],
    "where": where, "halves": halves_exchanged, "largest": row_of_the_largest,
    "flat": transposed_flat,
    "cumsum": lambda p, q, i: [node("CumSum", [p, "zero"], [f"{q}a"]),
                               node("Tanh", [f"{q}a"], [q])],
    "reverse": lambda p, q, i: [node("ReverseSequence", [p, "lengths"], [q], batch_axis=1,
                                     time_axis=0)],
    "softmax": lambda p, q, i: [node("Softmax", [p], [q], axis=i % 2)],
    "sort": lambda p, q, i: [node("TopK", [p, "six"], [q, f"{q}i"], axis=i % 2)],
    "max_pool": of_image("MaxPool", "image", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
    "space_to_depth": of_image("SpaceToDepth", "image", blocksize=2),
    "depth_to_space": of_image("DepthToSpace", "channels", blocksize=2),
}


def chain(name: str):
    def build(variant):
        nodes, at = [], "x"
        for i in range(STEPS):
            nodes += STEP[name](at, f"f{i}", i)
            nodes += [node("Add", [at, f"f{i}"], [f"s{i}"]),
                      node("Mul", [f"s{i}", "half"], [f"x{i}"])]
            at = f"x{i}"
        read = {n for one in nodes for n in one.input}
        tables = [numpy_helper.from_array(np.asarray(v), n) for n, v in constants().items()
                  if n in read]
        x = helper.make_tensor_value_info("x", 1, [6, 6])
        y = helper.make_tensor_value_info(at, 1, [6, 6])
        graph = helper.make_graph(nodes, name, [x], [y], tables)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", variant.opset)],
                                 ir_version=8)
    return build


MODELS = [Model(f"chain_{name}", chain(name), {"x": floats(6, 6)}, ("direct17",))
          for name in STEP]
