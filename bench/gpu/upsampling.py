#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a small network that halves an image and doubles it twice, as decoders of U-Nets do:

    upsampling.py MODEL.onnx

Convolutions with biases and activations, ConvTranspose of two by two whose result is concatenated
with what was there before, and one of three by three with output_padding. Needs onnx.
"""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

RANDOM = np.random.default_rng(7)
nodes, constants = [], []


def weight(*shape):
    scale = 1 / np.sqrt(np.prod(shape[1:]))
    name = f"w{len(constants)}"
    values = (RANDOM.standard_normal(shape) * scale).astype(np.float32)
    constants.append(numpy_helper.from_array(values, name))
    return name


def node(op, *inputs, **attributes):
    name = f"v{len(nodes)}"
    nodes.append(helper.make_node(op, list(inputs), [name], **attributes))
    return name


def convolution(x, inputs, outputs, **attributes):
    y = node("Conv", x, weight(outputs, inputs, 3, 3), weight(outputs), pads=[1] * 4, **attributes)
    return node("Relu", y)


before = convolution("x", 3, 32)
small = convolution(before, 32, 64, strides=[2, 2])
doubled = node("ConvTranspose", small, weight(64, 32, 2, 2), weight(32), strides=[2, 2])
both = node("Concat", before, node("Relu", doubled), axis=1)
y = convolution(both, 64, 32)
y = node("ConvTranspose", y, weight(32, 16, 3, 3), weight(16), strides=[2, 2], pads=[1] * 4,
         output_padding=[1, 1])
nodes.append(helper.make_node("Sigmoid", [y], ["y"]))
graph = helper.make_graph(
    nodes, "upsampling", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 32, 32])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 16, 64, 64])], constants)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), sys.argv[1])
