# SPDX-License-Identifier: Apache-2.0
"""A torch.nn.Module as an ONNX model, with the ranges of its open dimensions."""
from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from .errors import Error, UsageError


def export(model, folder: Path, example_inputs, dynamic_shapes) -> tuple[str, dict]:
    """Weights are written beside the model and mapped from there: of a module in memory there is
    one copy, on the disk."""
    import torch
    if isinstance(model, torch.nn.Module):
        program = _export_module(model, example_inputs, dynamic_shapes)
    elif example_inputs is not None or dynamic_shapes is not None:
        raise UsageError("example_inputs and dynamic_shapes are for a torch.nn.Module")
    elif isinstance(model, torch.export.ExportedProgram):
        program = _to_onnx(model)
    else:
        program = model
    path = folder / "model.onnx"
    program.save(str(path), external_data=True)
    return str(path), _ranges(program)


def _export_module(module, example_inputs, dynamic_shapes):
    import torch
    if example_inputs is None:
        raise UsageError("a torch.nn.Module needs example_inputs",
                         "give a tuple of its forward's arguments, or a mapping by their names")
    if isinstance(example_inputs, torch.Tensor):
        example_inputs = (example_inputs,)
    by_name = dict(example_inputs) if isinstance(example_inputs, Mapping) else None
    arguments = tuple(example_inputs) if by_name is None else ()
    was_training = module.training
    module.eval()
    try:
        with torch.no_grad():
            return _to_onnx(module, arguments, kwargs=by_name, dynamic_shapes=dynamic_shapes)
    finally:
        module.train(was_training)


def _to_onnx(*arguments, **options):
    import torch
    # It warns each time that torchvision is not there.
    registering = logging.getLogger("torch.onnx._internal.exporter._registration")
    before = registering.level
    registering.setLevel(logging.ERROR)
    try:
        return torch.onnx.export(*arguments, dynamo=True, verbose=False, **options)
    except ImportError as error:
        raise Error(f"torch.onnx.export cannot run: {error}",
                    "install onnx and onnxscript") from error
    finally:
        registering.setLevel(before)


def _ranges(program) -> dict[str, tuple[int, int]]:
    """(least, most) of each open dimension of the inputs that has a bound."""
    bounds = {}
    for symbol, values in program.exported_program.range_constraints.items():
        # Infinity is a number of its own kind.
        if all(getattr(v, "is_Integer", False) for v in (values.lower, values.upper)):
            bounds[str(symbol)] = int(values.lower), int(values.upper)
    named = _names_of_symbols(program)
    return {named[symbol]: bound for symbol, bound in bounds.items() if symbol in named}


def _names_of_symbols(program) -> dict[str, str]:
    """The exporter gives dimensions the names that the user has for them: what each symbol of the
    program is called in the model, by the places of both in the inputs."""
    shapes = {}
    for node in program.exported_program.graph.nodes:
        value = node.meta.get("val") if node.op == "placeholder" else None
        if hasattr(value, "shape"):
            shapes[node.name] = [str(size) for size in value.shape]
    names = {}
    for value in program.model.graph.inputs:
        for symbol, size in zip(shapes.get(value.name, []), value.shape or ()):
            if not isinstance(size, int) and getattr(size, "value", None):
                names.setdefault(symbol, size.value)
    return names
