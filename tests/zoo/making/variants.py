# SPDX-License-Identifier: Apache-2.0
"""What is done to an exported model: 16-bit types, quantisation, onnxruntime's optimiser."""
import tempfile
from pathlib import Path

import onnx
import onnxruntime
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
    """Float32 inputs and outputs, and Casts around what the converter leaves in float32."""
    return float16.convert_float_to_float16(model, keep_io_types=True)


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
        return onnx.load(result)


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
