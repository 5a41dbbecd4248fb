# SPDX-License-Identifier: Apache-2.0
"""A graph that AOTAutograd has traced, as a program that torch.onnx.export takes.

Such a graph is functional: what the module does to its inputs in place, and which results are views
of them, is left to AOTAutograd. Its placeholders are tensors, and the symbols of their sizes."""
from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch.export import ExportedProgram, graph_signature as signatures
from torch.export.exported_program import ModuleCallEntry, ModuleCallSignature
from torch.utils import _pytree as pytree

from . import _arrays

_CHECKS = (torch.ops.aten._assert_async.default, torch.ops.aten._assert_async.msg,
           torch.ops.aten._assert_scalar.default)


class Refused(Exception):
    """Why a graph stays with torch."""


class Result(NamedTuple):
    """Where a result comes from: argument `position`, result `index` of the model, or `value`."""
    position: int | None = None
    index: int | None = None
    value: int | float | bool | None = None
    finish: Callable | None = None


class Plan(NamedTuple):
    program: ExportedProgram
    inputs: list[int]        # positions of the arguments that the program takes
    results: list[Result]


def check_values(values: Sequence, what: str = "an input") -> None:
    """Refuses what no tensor of a model's library is."""
    for value in values:
        if not isinstance(value, torch.Tensor):
            continue
        if value.device.type != "cpu":
            raise Refused(f"{what} is on {value.device}, and the libraries are for a CPU")
        if value.layout is not torch.strided:
            raise Refused(f"{what} has the layout {value.layout}")
        if value.dtype.is_complex or value.is_quantized:
            raise Refused(f"{what} has elements of {value.dtype}")


def check_operators(graph: torch.fx.Graph) -> None:
    for node in graph.nodes:
        if node.op != "call_function":
            continue
        if _draws(node):
            raise Refused(f"{node.target} draws from torch's generator of random numbers")
        if node.target in _CHECKS:
            raise Refused(f"{node.target} checks data while it runs")


def _draws(node: torch.fx.Node) -> bool:
    """Whether it gives other numbers each time. Attention that drops nothing does not."""
    if torch.Tag.nondeterministic_seeded not in getattr(node.target, "tags", ()):
        return False
    given = dict(zip((a.name for a in node.target._schema.arguments), node.args)) | node.kwargs
    rates = [a for a in node.target._schema.arguments if a.name == "dropout_p"]
    return not rates or given.get("dropout_p", rates[0].default_value) != 0


def operator_count(graph: torch.fx.Graph) -> int:
    return sum(node.op.startswith("call_") for node in graph.nodes)


def plan(traced: torch.fx.GraphModule, args: Sequence, constants: Collection[int]) -> Plan:
    """Arguments at the positions `constants` become weights, without a copy; the others stay
    inputs."""
    graph = torch.fx.Graph()
    copies: dict[torch.fx.Node, torch.fx.Node] = {}
    outputs = graph.graph_copy(traced.graph, copies)
    outputs = outputs if isinstance(outputs, (list, tuple)) else (outputs,)
    holders = list(graph.find_nodes(op="placeholder"))
    results, computed = _results(outputs, holders)
    if not computed:
        raise Refused("the graph computes nothing")
    graph.output(tuple(computed))
    _take_sizes_of_tensors(graph, holders)
    weights: dict[str, torch.Tensor] = {}
    inputs, specs = [], []
    for position, node in enumerate(holders):
        if not node.users:
            graph.erase_node(node)
            continue
        value = node.meta["val"]
        if not isinstance(value, (torch.Tensor, torch.SymInt)):
            raise Refused(f"an input is {type(value).__name__}")
        if position in constants:
            specs.append(_spec(node, signatures.InputKind.BUFFER, f"weight{position}"))
            weights[f"weight{position}"] = args[position].detach()
        else:
            specs.append(_spec(node, signatures.InputKind.USER_INPUT))
            inputs.append(position)
    weights |= _lift_attributes(graph, traced, specs)
    return Plan(_program(traced, graph, specs, computed, weights), inputs, results)


def _take_sizes_of_tensors(graph: torch.fx.Graph, holders: list[torch.fx.Node]) -> None:
    """A symbol that is a size of a tensor is asked of the tensor, so that shapes depend on it and
    not on data. Placeholders that nobody reads then remain."""
    sizes = {}
    for node in holders:
        value = node.meta["val"]
        if isinstance(value, torch.Tensor):
            for dim, size in enumerate(value.shape):
                if isinstance(size, torch.SymInt):
                    sizes.setdefault(size.node.expr, (node, dim))
    first = next(node for node in graph.nodes if node.op != "placeholder")
    for node in holders:
        value = node.meta["val"]
        if node.users and isinstance(value, torch.SymInt) and value.node.expr in sizes:
            with graph.inserting_before(first):
                size = graph.call_function(torch.ops.aten.sym_size.int, sizes[value.node.expr])
            size.meta["val"] = value
            node.replace_all_uses_with(size)


def _results(outputs, holders) -> tuple[list[Result], list[torch.fx.Node]]:
    """What to return, and the nodes that the program has to return for that."""
    results, computed = [], []
    for node in outputs:
        if not isinstance(node, torch.fx.Node):
            results.append(Result(value=node))
            continue
        if node in holders:
            results.append(Result(position=holders.index(node)))
            continue
        value = node.meta["val"]
        check_values([value], "a result")
        if not isinstance(value, (torch.Tensor, torch.SymInt)):
            raise Refused(f"a result is {type(value).__name__}")
        if node not in computed:
            computed.append(node)
        finish = _layout(value) if isinstance(value, torch.Tensor) else int
        results.append(Result(index=computed.index(node), finish=finish))
    return results, computed


def _layout(value: torch.Tensor) -> Callable | None:
    """Gives a contiguous result the strides that torch's own has, where these are a permutation."""
    try:
        sizes = [_hint(size) for size in value.shape]
        strides = [_hint(stride) for stride in value.stride()]
    except AttributeError:  # sizes that data decide
        return None
    order = sorted(range(len(sizes)), key=lambda d: -strides[d] if sizes[d] != 1 else 0)
    wide = [d for d in order if sizes[d] != 1]
    if wide == sorted(wide) or any(strides[d] == 0 for d in wide) or 0 in sizes:
        return None
    back = [order.index(d) for d in range(len(order))]
    return lambda result: result.permute(order).contiguous().permute(back)


def _hint(size: int | torch.SymInt) -> int:
    return size if isinstance(size, int) else int(size.node.hint)


def _lift_attributes(graph, traced, specs) -> dict[str, torch.Tensor]:
    """Tensors that the graph itself has, as weights: `torch.tensor([1, 2])` in the module."""
    constants = {}
    first = next(iter(graph.nodes))
    for node in list(graph.find_nodes(op="get_attr")):
        value = getattr(traced, node.target)
        if not isinstance(value, torch.Tensor):
            continue  # a graph: the body of a branch or loop
        with graph.inserting_before(first):
            holder = graph.placeholder(node.target)
        holder.meta["val"] = node.meta["val"]
        node.replace_all_uses_with(holder)
        graph.erase_node(node)
        name = f"of_graph{len(constants)}"
        specs.insert(len(constants), _spec(holder, signatures.InputKind.BUFFER, name))
        constants[name] = value
    return constants


def _spec(node, kind, target: str | None = None) -> signatures.InputSpec:
    return signatures.InputSpec(kind, _argument(node), target,
                                True if target is not None else None)


def _argument(node):
    is_tensor = isinstance(node.meta["val"], torch.Tensor)
    return (signatures.TensorArgument if is_tensor else signatures.SymIntArgument)(node.name)


def _program(traced, graph, specs, computed, weights) -> ExportedProgram:
    outs = [signatures.OutputSpec(signatures.OutputKind.USER_OUTPUT, _argument(node), None)
            for node in computed]
    names = [spec.arg.name for spec in specs if spec.target is None]
    _, in_spec = pytree.tree_flatten((tuple(names), {}))
    _, out_spec = pytree.tree_flatten(tuple(node.name for node in computed))
    call = ModuleCallEntry("", ModuleCallSignature([], [], in_spec, out_spec))
    return ExportedProgram(traced, graph, signatures.ExportGraphSignature(specs, outs), weights,
                           ranges(graph), [call])


def ranges(graph: torch.fx.Graph) -> dict:
    """Of the symbols, as guards and the module itself bound them."""
    env = _shape_env(graph)
    return {} if env is None else dict(env.var_to_range)


def guard_count(graph: torch.fx.Graph) -> int:
    """How many conditions on the symbols its tracing has left."""
    env = _shape_env(graph)
    return 0 if env is None else len(env.guards)


def _shape_env(graph: torch.fx.Graph):
    """What knows the symbols; None where all sizes are fixed."""
    for node in graph.find_nodes(op="placeholder"):
        mode = getattr(node.meta["val"], "fake_mode", None)
        if mode is not None and mode.shape_env is not None:
            return mode.shape_env
    return None


def array_of(value, align_bytes: int):
    """An argument as an array that a model takes without a word: contiguous, and aligned."""
    if not isinstance(value, torch.Tensor):
        return np.array(value, np.int64)
    value = value.detach() if value.requires_grad else value
    if value.is_neg():
        value = value.resolve_neg()
    if not value.is_contiguous():
        return value.contiguous()
    return value if value.data_ptr() % align_bytes == 0 else value.clone()


def finished(result: Result, args: Sequence, made: list[np.ndarray]):
    if result.position is not None:
        return args[result.position]
    if result.index is None:
        return result.value
    if result.finish is int:
        return int(made[result.index])
    tensor = _arrays.as_torch(made[result.index])
    return tensor if result.finish is None else result.finish(tensor)


def check_results(got: Sequence, wanted: Sequence, tolerance: float) -> None:
    """Refuses results that are other ones than torch's. What torch.onnx.export makes of an operator
    is not always what the operator does."""
    for index, (ours, theirs) in enumerate(zip(got, wanted)):
        if not isinstance(theirs, torch.Tensor):
            is_equal = ours == theirs
        else:
            is_equal = ours.shape == theirs.shape and _is_close(ours, theirs, tolerance)
        if not is_equal:
            raise Refused(f"result {index} of the exported graph is not torch's")


def _is_close(ours: torch.Tensor, theirs: torch.Tensor, tolerance: float) -> bool:
    """But for a hundredth of the elements: where numbers are nearly equal, an index of the greatest
    may be another one."""
    if theirs.dtype.is_floating_point:
        finite = theirs[theirs.isfinite()]
        scale = finite.abs().max().item() if finite.numel() else 0.0
        close = torch.isclose(ours, theirs, rtol=0, atol=tolerance * scale, equal_nan=True)
    else:
        close = ours == theirs
    return (~close).sum().item() <= close.numel() // 100
