# SPDX-License-Identifier: Apache-2.0
"""What a model should compute, by onnxruntime on the CPU.

`exact` computes a 16-bit model in float32, from its 16-bit weights and inputs, products with packed
weights in float32 whatever accuracy the file allows, and a quantised model node by node, as its
file has it. The file as onnxruntime runs it shows how large an error is usual.
"""
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto

sys.path.append(str(Path(__file__).resolve().parents[3]))
from bench.tools.hydrate import convert_dtype, graphs  # noqa: E402

onnxruntime.set_default_logger_severity(4)
NARROW = (TensorProto.FLOAT16, TensorProto.BFLOAT16)
QUANTISING = ("QuantizeLinear", "DynamicQuantizeLinear")


def session_of(model: onnx.ModelProto, optimised: bool = True) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    if not optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options,
                                        providers=["CPUExecutionProvider"])


def has_type(model: onnx.ModelProto, dtype: int) -> bool:
    for graph in graphs(model.graph):
        values = (*graph.input, *graph.output, *graph.value_info)
        if any(v.type.tensor_type.elem_type == dtype for v in values):
            return True
        if any(t.data_type == dtype for t in graph.initializer):
            return True
        for node in graph.node:
            if any(a.name == "to" and a.i == dtype for a in node.attribute):
                return True
    return False


def compute_in_float32(model: onnx.ModelProto) -> None:
    """Without it the operands of MatMulNBits may be rounded to 8 bits."""
    for graph in graphs(model.graph):
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.name == "accuracy_level":
                    attribute.i = 1


class Reference:
    def __init__(self, model: onnx.ModelProto):
        self.narrow = [t for t in NARROW if has_type(model, t)]
        wide = onnx.ModelProto()
        wide.CopyFrom(model)
        for dtype in self.narrow:
            convert_dtype(wide, dtype, TensorProto.FLOAT)
        compute_in_float32(wide)
        self.is_quantised = any(n.op_type in QUANTISING for n in model.graph.node)
        # A packed weight's product is one that rounds its operands, where they are fused.
        has_packed_weights = any(n.op_type == "DequantizeLinear" for n in model.graph.node)
        self.wide = session_of(wide, optimised=not (self.is_quantised or has_packed_weights))
        self.outputs = [o.name for o in self.wide.get_outputs()]
        self.model = model

    def exact(self, feeds: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        if self.narrow:
            feeds = {n: x.astype(np.float32) if x.dtype.itemsize == 2 and x.dtype.kind in "fV"
                     else x for n, x in feeds.items()}
        return dict(zip(self.outputs, self.wide.run(self.outputs, feeds)))
