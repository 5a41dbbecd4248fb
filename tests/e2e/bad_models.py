#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes ONNX models that have one fault each, and a sound one, into a folder: bad_models.py DIR"""
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def value(name, shape, dtype=FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


def model(nodes, inputs, outputs, weights=(), opset=17):
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializer=list(weights))
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    made.ir_version = 8
    return made.SerializeToString()


def node(kind, inputs, outputs, name, **attributes):
    return helper.make_node(kind, inputs, outputs, name=name, **attributes)


def external(name, dims, location, **more):
    tensor = TensorProto(name=name, data_type=FLOAT, dims=dims,
                         data_location=TensorProto.EXTERNAL)
    for key, text in {"location": location, **more}.items():
        tensor.external_data.add(key=key, value=text)
    return tensor


def one(kind, shape, out=None, weights=(), inputs=("x",), **attributes):
    """y = kind(x, ...)"""
    return model([node(kind, list(inputs), ["y"], "the/node", **attributes)], [value("x", shape)],
                 [value("y", out)], weights)


def sound():
    weight = numpy_helper.from_array(np.linspace(-1, 1, 128, dtype=np.float32).reshape(8, 16), "w")
    return model([node("MatMul", ["x", "w"], ["h"], "product"), node("Relu", ["h"], ["r"], "act"),
                  node("Softmax", ["r"], ["y"], "soft", axis=-1)],
                 [value("x", [4, 8])], [value("y", [4, 16])], [weight])


def large_weight():
    weight = numpy_helper.from_array(np.arange(1 << 20, dtype=np.float32), "w")
    return model([node("Add", ["x", "w"], ["y"], "sum")], [value("x", [1 << 20])],
                 [value("y", [1 << 20])], [weight])


def raw(name, dims, data):
    return TensorProto(name=name, data_type=FLOAT, dims=dims, raw_data=data)


def nested_ifs(depth):
    """y = x, exp'ed after `depth` conditions"""
    def branch(nodes, name):
        return helper.make_graph(nodes, "b", [], [value(name, [2])])
    inner = branch([node("Exp", ["x"], ["t0"], "exp")], "t0")
    for k in range(1, depth):
        other = branch([node("Abs", ["x"], [f"e{k}"], f"abs{k}")], f"e{k}")
        inner = branch([node("If", ["c"], [f"t{k}"], f"if{k}", then_branch=inner,
                             else_branch=other)], f"t{k}")
    other = branch([node("Abs", ["x"], ["e"], "abs")], "e")
    return model([node("If", ["c"], ["y"], "if", then_branch=inner, else_branch=other)],
                 [value("x", [2]), value("c", [], TensorProto.BOOL)], [value("y", [2])])


def without_opset():
    made = onnx.load_model_from_string(one("Softmax", [2]))
    made.ClearField("opset_import")
    return made.SerializeToString()


def weight(name, values, dtype=np.float32):
    return numpy_helper.from_array(np.array(values, dtype), name)


def models():
    pair = [value("x", [2, 3]), value("w", [4, 5])]
    return {
        "sound": sound(),
        "large_weight": large_weight(),
        "empty": b"",
        "truncated": sound()[:300],
        "text": b"this is no model\n",
        "picture": b"\x89PNG\r\n\x1a\n" + bytes(100),
        "external_missing": one("Add", [4], inputs=("x", "w"),
                                weights=[external("w", [4], "none.bin")]),
        "external_short": one("Add", [4], inputs=("x", "w"),
                              weights=[external("w", [4], "short.bin")]),
        "external_outside": one("Add", [4], inputs=("x", "w"),
                                weights=[external("w", [4], "../short.bin")]),
        "unknown_operators": model([node("NoSuch", ["x"], ["a"], "first"),
                                    node("NorThis", ["a"], ["y"], "second")],
                                   [value("x", [2])], [value("y", None)]),
        "unknown_attribute": one("Relu", [2], slope=2),
        "attribute_type": one("Softmax", [2, 3], axis="last"),
        "attribute_range": one("Softmax", [2, 3], axis=7),
        "attribute_missing": one("MaxPool", [1, 1, 4, 4]),
        "shapes": model([node("MatMul", ["x", "w"], ["y"], "the/node")], pair, [value("y", None)]),
        "dtypes": model([node("Add", ["x", "i"], ["y"], "the/node")],
                        [value("x", [2]), value("i", [2], INT64)], [value("y", None)]),
        "cyclic": model([node("Relu", ["b"], ["a"], "one"), node("Abs", ["a"], ["b"], "two")],
                        [value("x", [2])], [value("a", [2])]),
        "unsorted": model([node("Relu", ["a"], ["y"], "late"), node("Abs", ["x"], ["a"], "early")],
                          [value("x", [2])], [value("y", [2])]),
        "undefined_output": model([node("Abs", ["x"], ["a"], "n")], [value("x", [2])],
                                  [value("z", [2])]),
        "negative_dimension": one("Relu", [-2, 3]),
        "negative_weight": one("Add", [2], inputs=("x", "w"), weights=[raw("w", [-2], bytes(8))]),
        "negative_result": one("MaxPool", [1, 1, 2, 2], kernel_shape=[5, 5]),
        "overflow": one("Relu", [1 << 40, 1 << 40]),
        "overflow_of_bytes": one("Relu", [1 << 31, 1 << 31]),
        "overflow_of_result": model([node("Add", ["x", "w"], ["y"], "the/node")],
                                    [value("x", [1 << 33, 1]), value("w", [1, 1 << 33])],
                                    [value("y", None)]),
        "symbolic": one("Relu", ["batch", 3]),
        "newer_opset": model([node("Relu", ["x"], ["y"], "n")], [value("x", [2])],
                             [value("y", [2])], opset=99),
        "weight_bytes": one("Add", [4], inputs=("x", "w"), weights=[raw("w", [4], bytes(8))]),
        "zero_size": model([node("Relu", ["x"], ["h"], "act"),
                            node("MatMul", ["h", "w"], ["y"], "p")],
                           [value("x", [0, 3])], [value("y", [0, 2])],
                           [raw("w", [3, 2], bytes(24))]),
        "zero_reduction": one("ReduceSum", [0, 3], keepdims=0),
        "huge": one("Relu", [1 << 45]),
        "constant_of_negative": model(
            [node("ConstantOfShape", ["s"], ["c"], "the/node"),
             node("Add", ["x", "c"], ["y"], "n")],
            [value("x", [1])], [value("y", [1])], [weight("s", [-3], np.int64)]),
        "expand_to_negative": one("Expand", [1], inputs=("x", "s"),
                                  weights=[weight("s", [-3], np.int64)]),
        "tile_overflow": one("Tile", [5], inputs=("x", "s"),
                             weights=[weight("s", [1 << 62], np.int64)]),
        "output_type": model([node("Exp", ["x"], ["y"], "n")], [value("x", [5])],
                             [value("y", [5], INT64)]),
        "output_shape": one("Exp", [5], [7]),
        "output_rank": one("Exp", [5], [5, 1]),
        "where_float": one("Where", [2, 3], inputs=("x", "x", "x")),
        "input_twice": model([node("Exp", ["x"], ["y"], "n")], [value("x", [5]), value("x", [5])],
                             [value("y", [5])]),
        "no_opset": without_opset(),
        "opset_zero": model([node("Exp", ["x"], ["y"], "n")], [value("x", [5])],
                            [value("y", [5])], opset=0),
        "resize_zero": one("Resize", [1, 1, 2, 3], inputs=("x", "", "s"),
                           weights=[weight("s", [1, 1, 0, -1])]),
        "resize_nan": one("Resize", [1, 1, 2, 3], inputs=("x", "", "s"),
                          weights=[weight("s", [1, 1, np.nan, 1])]),
        "resize_huge": one("Resize", [1, 1, 2, 3], inputs=("x", "", "s"),
                           weights=[weight("s", [1, 1, 1e30, 1])]),
        "resize_sizes": one("Resize", [1, 1, 2, 3], inputs=("x", "", "", "s"),
                            weights=[weight("s", [1, 1, -4, 3], np.int64)]),
        "resize_few": one("Resize", [1, 1, 2, 3], inputs=("x", "", "s"),
                          weights=[weight("s", [1, 1])]),
        "one_hot_negative": model([node("OneHot", ["x", "d", "v"], ["y"], "the/node")],
                                  [value("x", [5], INT64)], [value("y", None)],
                                  [weight("d", [-9], np.int64), weight("v", [0, 1])]),
        "cast_to_99": one("Cast", [5], to=99),
        "attribute_after_unknown": model(
            [node("NoSuch", ["x"], ["a"], "first"), node("Relu", ["a"], ["b"], "act", bogus=1),
             node("Softmax", ["b"], ["y"], "soft", axis="last")],
            [value("x", [2])], [value("y", None)]),
        "nested_ifs": nested_ifs(30),
        "colliding_names": model([node("Exp", ["a/b"], ["y/1"], "n"),
                                  node("Abs", ["a_b"], ["y_1"], "m")],
                                 [value("a/b", [2]), value("a_b", [2])],
                                 [value("y/1", [2]), value("y_1", [2])]),
        "division": model([node("Div", ["x", "d"], ["q"], "div"),
                           node("Mod", ["x", "d"], ["r"], "mod"),
                           node("Div", ["x", "z"], ["c"], "by_constant")],
                          [value("x", [4], INT64), value("d", [4], INT64)],
                          [value("q", [4], INT64), value("r", [4], INT64),
                           value("c", [4], INT64)],
                          [weight("z", [0, -1, 2, 0], np.int64)]),
    }


def main():
    folder = Path(sys.argv[1])
    for name, data in models().items():
        (folder / f"{name}.onnx").write_bytes(data)
    (folder / "short.bin").write_bytes(bytes(12))


main()
