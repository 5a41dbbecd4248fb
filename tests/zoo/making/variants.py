# SPDX-License-Identifier: Apache-2.0
"""What is done to an exported model: 16-bit types, quantisation, onnxruntime's optimiser."""
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, numpy_helper
from onnxconverter_common import float16
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, \
    quantize_dynamic, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

from running.values import make_value

Level = onnxruntime.GraphOptimizationLevel
LEVELS = {"basic": Level.ORT_ENABLE_BASIC, "extended": Level.ORT_ENABLE_EXTENDED}


class Samples(CalibrationDataReader):
    def __init__(self, inputs: dict, shapes: dict[str, list[int]], count: int = 4):
        self.left = [{n: make_value(n, d, shapes[n], 100 + i) for n, d in inputs.items()}
                     for i in range(count)]

    def get_next(self):
        return self.left.pop() if self.left else None


def to_float16(model: onnx.ModelProto) -> onnx.ModelProto:
    """Float32 inputs and outputs, and Casts around what the converter leaves in float32. Of the
    model's own Casts to float32 it changes what they give, and forgets what they say."""
    narrow = float16.convert_float_to_float16(model, keep_io_types=True)
    types = {v.name: v.type.tensor_type.elem_type for v in narrow.graph.value_info}
    for node in narrow.graph.node:
        if node.op_type == "Cast" and types.get(node.output[0]) == TensorProto.FLOAT16:
            for attribute in node.attribute:
                if attribute.name == "to":
                    attribute.i = TensorProto.FLOAT16
    onnx.shape_inference.infer_shapes(narrow, check_type=True, strict_mode=True)
    return narrow


def quantise(model: onnx.ModelProto, how: str, inputs: dict, shapes: dict) -> onnx.ModelProto:
    with tempfile.TemporaryDirectory() as folder:
        source, prepared, result = (str(Path(folder) / n) for n in ("a.onnx", "p.onnx", "b.onnx"))
        onnx.save(model, source)
        quant_pre_process(source, prepared, skip_symbolic_shape=True)
        if how == "dynamic":
            quantize_dynamic(prepared, result, weight_type=QuantType.QInt8)
        else:
            kind = QuantFormat.QOperator if how.startswith("qoperator") else QuantFormat.QDQ
            signed = not how.endswith("unsigned")
            quantize_static(prepared, result, Samples(inputs, shapes), quant_format=kind,
                            per_channel=how.endswith("channels"),
                            activation_type=QuantType.QInt8 if signed else QuantType.QUInt8,
                            weight_type=QuantType.QInt8)
        quantised = onnx.load(result)
    for tensor in quantised.graph.initializer:  # the range of a mask of -3e38 has no width
        if tensor.name.endswith("_scale") and not np.isfinite(numpy_helper.to_array(tensor)).all():
            raise ValueError(f"{tensor.name} is not finite")
    return quantised


def optimise(model: onnx.ModelProto, level) -> onnx.ModelProto:
    with tempfile.TemporaryDirectory() as folder:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = level
        options.optimized_model_filepath = str(Path(folder) / "o.onnx")
        options.log_severity_level = 4
        onnxruntime.InferenceSession(model.SerializeToString(), options,
                                     providers=["CPUExecutionProvider"])
        return onnx.load(options.optimized_model_filepath)


def fuse_transformer(model: onnx.ModelProto, kind: str) -> onnx.ModelProto:
    """The optimiser of onnxruntime's Python package: Attention, SkipLayerNormalization, ..."""
    from onnxruntime.transformers import optimizer
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "a.onnx")
        onnx.save(model, path)
        fused = optimizer.optimize_model(path, model_type=kind, num_heads=4, hidden_size=32,
                                         opt_level=0, use_gpu=False)
        return fused.model


def change(model: onnx.ModelProto, name: str, inputs: dict, shapes: dict) -> onnx.ModelProto:
    if name in ("half", "bfloat"):
        return model  # the module was converted
    if name == "fp16":
        return to_float16(model)
    if name in LEVELS:
        return optimise(model, LEVELS[name])
    if name.startswith("fused_"):
        return fuse_transformer(model, name.removeprefix("fused_"))
    if name.startswith(("dynamic", "qdq", "qoperator")):
        return quantise(model, name, inputs, shapes)
    raise ValueError(f"there is no variant {name}")
