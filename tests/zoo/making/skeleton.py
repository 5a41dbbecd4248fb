# SPDX-License-Identifier: Apache-2.0
"""A model without its large random weights: their mean and deviation stand in its metadata, in the
format that bench/tools/hydrate.py reads."""
import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

THRESHOLD = 128  # tensors with more elements may be stripped
FLOATS = {TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.DOUBLE}
NARROW = {TensorProto.INT8, TensorProto.UINT8}


def moments(values: np.ndarray) -> tuple[float, float] | None:
    """Mean and deviation of what looks drawn from a normal distribution, else nothing: tables of
    positions, masks, filter banks and the like stay as they are."""
    x = values.astype(np.float64).ravel()
    if x.size <= THRESHOLD or not np.isfinite(x).all():
        return None
    mean, std = x.mean(), x.std()
    if std == 0:
        return None
    z = (x - mean) / std
    spread = 4 * (24 / x.size) ** 0.5  # of the kurtosis of a sample; a ramp has 1.8, a sine 1.5
    kurtosis, skew = (z**4).mean(), (z**3).mean()
    if not 2.3 - min(spread, 0.3) < kurtosis < 4.2 + spread or abs(skew) > max(0.4, spread):
        return None
    if abs(z).max() > 8:
        return None
    return mean, std


def fill_of(tensor: TensorProto) -> str | None:
    if tensor.data_type not in FLOATS | NARROW:
        return None
    values = numpy_helper.to_array(tensor)
    found = moments(values)
    if found is None:
        return None
    if tensor.data_type in NARROW:
        if found[1] < 5:
            return None
    elif np.unique(values.astype(np.float32)).size < 0.5 * min(values.size, 500):
        return None
    return f"{found[0]:.3g} {found[1]:.3g}"


def forget_notes(graph: onnx.GraphProto) -> None:
    """Source places and types that exporters write for their own debugging."""
    for node in graph.node:
        node.doc_string = ""
        del node.metadata_props[:]
        for attribute in node.attribute:
            attribute.doc_string = ""
            for inner in (attribute.g, *attribute.graphs):
                if inner.node:
                    forget_notes(inner)
    for value in (*graph.value_info, *graph.input, *graph.output):
        value.doc_string = ""
        del value.metadata_props[:]
    for tensor in graph.initializer:
        tensor.doc_string = ""
        del tensor.metadata_props[:]
    graph.doc_string = ""
    del graph.metadata_props[:]
    del graph.quantization_annotation[:]


def strip(model: onnx.ModelProto, origin: str) -> onnx.ModelProto:
    forget_notes(model.graph)
    del model.metadata_props[:]
    model.doc_string = ""
    model.metadata_props.add(key="skeleton", value="1")
    model.metadata_props.add(key="exporter", value=origin)
    for tensor in model.graph.initializer:
        fill = fill_of(tensor)
        if fill is None:
            continue
        model.metadata_props.add(key=f"fill:{tensor.name}", value=fill)
        for field in ("raw_data", "float_data", "int32_data", "double_data"):
            tensor.ClearField(field)
    return model
