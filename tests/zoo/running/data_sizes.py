# SPDX-License-Identifier: Apache-2.0
"""Sizes of a model's outputs that its data decide: how many boxes a suppression keeps, say."""
import sys
from pathlib import Path

import onnx

sys.path.append(str(Path(__file__).resolve().parents[3]))
from bench.tools.hydrate import graphs  # noqa: E402

CHOOSING = ("NonMaxSuppression", "NonZero", "Unique", "Compress")


def named_sizes(value: onnx.ValueInfoProto) -> list[str]:
    return [dim.dim_param for dim in value.type.tensor_type.shape.dim]


def data_sizes(model: onnx.ModelProto) -> dict[str, set[int]]:
    """The axes of each output whose sizes are no numbers and none of the inputs' sizes, in a model
    that chooses elements."""
    if not any(n.op_type in CHOOSING for g in graphs(model.graph) for n in g.node):
        return {}
    known = {""}.union(*map(named_sizes, model.graph.input))
    return {o.name: {axis for axis, name in enumerate(named_sizes(o)) if name not in known}
            for o in model.graph.output}
