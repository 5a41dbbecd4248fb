#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a small quantised network of convolutions, in all the forms that ONNX has for them:

    quantized_convolutions.py MODEL.onnx

An image of three channels and three layers of QLinearConv with zero points, borders, strides and
scales of channels; a Conv between DequantizeLinear and QuantizeLinear, with and without a residual;
DynamicQuantizeLinear and ConvInteger, whose zero point is computed. Needs onnx.
"""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

RANDOM = np.random.default_rng(7)
nodes, constants = [], []


def constant(name, value):
    constants.append(numpy_helper.from_array(np.asarray(value), name))
    return name


def weights(name, outputs, inputs, side):
    return constant(name, RANDOM.integers(-127, 128, (outputs, inputs, side, side), np.int8))


def spread(outputs, terms):
    """Scales with which a layer gives as much as it gets."""
    return RANDOM.uniform(0.8, 1.2, outputs).astype(np.float32) / np.float32(73 * terms**0.5)


def qlinear_conv(name, x, zeros, outputs, inputs, side, bias=True, **attributes):
    """`zeros`: the zero points of x and of the result, uint8."""
    operands = [x, constant(f"{name}_sx", np.float32(0.05)),
                constant(f"{name}_zx", np.uint8(zeros[0])),
                weights(f"{name}_w", outputs, inputs, side),
                constant(f"{name}_sw", spread(outputs, inputs * side * side)),
                constant(f"{name}_zw", np.zeros(outputs, np.int8)),
                constant(f"{name}_sy", np.float32(0.05)),
                constant(f"{name}_zy", np.uint8(zeros[1]))]
    if bias:
        operands.append(constant(f"{name}_b", RANDOM.integers(-9999, 9999, outputs, np.int32)))
    nodes.append(helper.make_node("QLinearConv", operands, [name], **attributes))
    return name


def quantised_conv(name, x, outputs, inputs, side, residual="", **attributes):
    """DequantizeLinear, Conv, Relu, QuantizeLinear; after Conv the sum with another tensor."""
    scale, zero = constant(f"{name}_s", np.float32(0.05)), constant(f"{name}_z", np.uint8(121))
    w = [weights(f"{name}_w", outputs, inputs, side),
         constant(f"{name}_sw", spread(outputs, inputs * side * side)),
         constant(f"{name}_zw", np.zeros(outputs, np.int8))]
    bias = constant(f"{name}_b", RANDOM.normal(0, 1, outputs).astype(np.float32))
    nodes.extend([
        helper.make_node("DequantizeLinear", [x, scale, zero], [f"{name}_x"]),
        helper.make_node("DequantizeLinear", w, [f"{name}_wide"], axis=0),
        helper.make_node("Conv", [f"{name}_x", f"{name}_wide", bias], [f"{name}_y"], **attributes)])
    if residual:
        nodes.extend([
            helper.make_node("DequantizeLinear", [residual, scale, zero], [f"{name}_r"]),
            helper.make_node("Add", [f"{name}_r", f"{name}_y"], [f"{name}_sum"])])
    nodes.extend([
        helper.make_node("Relu", [f"{name}_sum" if residual else f"{name}_y"], [f"{name}_relu"]),
        helper.make_node("QuantizeLinear", [f"{name}_relu", scale, zero], [name])])
    return name


def dynamic_conv(name, x, outputs, inputs, side, **attributes):
    nodes.extend([
        helper.make_node("DynamicQuantizeLinear", [x], [f"{name}_x", f"{name}_s", f"{name}_z"]),
        helper.make_node("ConvInteger",
                         [f"{name}_x", weights(f"{name}_w", outputs, inputs, side), f"{name}_z"],
                         [f"{name}_sums"], **attributes),
        helper.make_node("Cast", [f"{name}_sums"], [f"{name}_wide"], to=TensorProto.FLOAT),
        helper.make_node("Mul", [f"{name}_wide", f"{name}_s"], [name])])
    return name


a = qlinear_conv("a", "x", (114, 121), 64, 3, 7, strides=[2, 2], pads=[3, 3, 3, 3])
b = qlinear_conv("b", a, (121, 0), 128, 64, 3, pads=[1, 1, 1, 1], strides=[2, 2])
c = qlinear_conv("c", b, (0, 121), 64, 128, 1, bias=False)
d = quantised_conv("d", c, 64, 64, 3, residual=c, pads=[1, 1, 1, 1])
d = quantised_conv("g", d, 96, 64, 3, pads=[1, 1, 1, 1], strides=[2, 2])
e = dynamic_conv("e", "f", 40, 24, 3, pads=[0, 1, 1, 0])
graph = helper.make_graph(
    nodes, "quantised",
    [helper.make_tensor_value_info("x", TensorProto.UINT8, [4, 3, 64, 64]),
     helper.make_tensor_value_info("f", TensorProto.FLOAT, [2, 24, 19, 17])],
    [helper.make_tensor_value_info(d, TensorProto.UINT8, None),
     helper.make_tensor_value_info(e, TensorProto.FLOAT, None),
     helper.make_tensor_value_info(b, TensorProto.UINT8, None)], constants)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
          sys.argv[1])
