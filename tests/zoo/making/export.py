# SPDX-License-Identifier: Apache-2.0
"""A module to an ONNX model, by either of PyTorch's exporters."""
import inspect
import logging
import tempfile
import warnings
from pathlib import Path

import onnx
import torch

from making.model import Model, Variant, shape_of
from making.weights import initialise
from running.values import make_value

logging.getLogger("torch.onnx").setLevel(logging.ERROR)
torch.backends.mha.set_fastpath_enabled(False)  # fused layers have no ONNX operator
SIXTEEN = {"half": (torch.float16, "float16"), "bfloat": (torch.bfloat16, "bfloat16")}


def symbol(size) -> str:
    return size.replace("+", "_plus_")


def open_axes(model: Model) -> dict[str, dict[int, str]]:
    return {name: {axis: symbol(d) for axis, d in enumerate(given.shape) if isinstance(d, str)}
            for name, given in model.inputs.items()}


def examples(model: Model, dtype: str | None) -> tuple[torch.Tensor, ...]:
    values = []
    for name, given in model.inputs.items():
        described = {"kind": given.kind, "dtype": given.dtype, "low": given.low,
                     "high": given.high}
        value = torch.from_numpy(make_value(name, described, shape_of(given, model.sizes[0]), 0))
        if dtype and value.is_floating_point():
            value = value.to(getattr(torch, dtype))
        values.append(value)
    return tuple(values)


def sixteen_bits(variant: Variant) -> str | None:
    for change, (_, name) in SIXTEEN.items():
        if change in variant.changes:
            return name
    return None


def export_legacy(module, model: Model, variant: Variant, args: tuple, path: Path) -> None:
    if model.script:
        module = torch.jit.script(module)
    torch.onnx.export(module, args, str(path), opset_version=variant.opset, dynamo=False,
                      input_names=list(model.inputs), do_constant_folding=True,
                      dynamic_axes=open_axes(model) if variant.is_open else None)


def with_named_parameters(module: torch.nn.Module, count: int) -> torch.nn.Module:
    """The same module for `forward(*args)`, whose guards torch.export cannot write."""
    kinds = [p.kind for p in inspect.signature(module.forward).parameters.values()]
    if inspect.Parameter.VAR_POSITIONAL not in kinds:
        return module
    names = ", ".join(f"x{i}" for i in range(count))
    scope: dict = {}
    exec(f"def forward(self, {names}):\n    return self.inner({names})\n", scope)
    named = type("Named", (torch.nn.Module,), {"forward": scope["forward"]})()
    named.inner = module
    return named.eval()


def export_dynamo(module, model: Model, variant: Variant, args: tuple, path: Path) -> None:
    module = with_named_parameters(module, len(args))
    shapes = None
    if variant.is_open:
        shapes = tuple({a: torch.export.Dim.DYNAMIC for a in axes}
                       for axes in open_axes(model).values())
    program = torch.onnx.export(module, args, opset_version=variant.opset, dynamo=True,
                                input_names=list(model.inputs), dynamic_shapes=shapes,
                                verbose=False)
    program.save(str(path), external_data=False)


def name_open_axes(exported: onnx.ModelProto, model: Model) -> None:
    """Dynamo's own names (s0, s1) may say that two sizes are equal; they stay. A size that it made
    constant is an error here, since the second set of inputs would not fit."""
    for value in exported.graph.input:
        for axis in open_axes(model)[value.name]:
            dim = value.type.tensor_type.shape.dim[axis]
            if dim.WhichOneof("value") == "dim_value":
                raise ValueError(f"{value.name}: axis {axis} became {dim.dim_value}")


def export(model: Model, variant: Variant) -> onnx.ModelProto:
    torch.manual_seed(0)
    if variant.exporter == "direct":
        return model.build(variant)
    module = model.build().eval()
    if not model.keep_weights:
        initialise(module)
    dtype = sixteen_bits(variant)
    if dtype:
        module = module.to(getattr(torch, dtype))
    for p in module.parameters():
        p.requires_grad_(False)
    args = examples(model, dtype)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        path = Path(folder) / "model.onnx"
        how = export_legacy if variant.exporter == "legacy" else export_dynamo
        how(module, model, variant, args, path)
        exported = onnx.load(path)
    if variant.is_open:
        name_open_axes(exported, model)
    return exported
