# SPDX-License-Identifier: Apache-2.0
"""`torch.compile(model, backend="tessera")`: docs/python.md.

Dynamo finds `backend` by the entry point of the package, or since this file registers it."""
from __future__ import annotations

import functools
import hashlib
import inspect
import time
import warnings
import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from functorch.compile import make_boxed_func
from torch._decomp import get_decompositions
from torch._dynamo.backends import registry
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.convert_frame import compile_lock
from torch._dynamo.exc import RestartAnalysis
from torch._guards import TracingContext

from . import _runtime, _traced_graph
from ._traced_graph import Refused
from .compiling import compile
from .errors import CompileError, IndexOutsideError, TesseraWarning, UsageError

# How far results may be from torch's when a graph is first called, beside the greatest number of a
# result: what is wrong is further off.
_TOLERANCE = {torch.float32: 1e-2, torch.float64: 1e-2, torch.float16: 5e-2, torch.bfloat16: 1e-1}
# What torch.onnx.export takes for an inference whatever it is.
_DECOMPOSED = get_decompositions([torch.ops.aten._native_batch_norm_legit_functional.default])
# Sets of weights for which a graph is compiled with these as constants. With more, they are inputs.
_MOST_VARIANTS = 16
_OPTIONS = inspect.signature(compile).parameters.keys() - {
    "model", "output", "example_inputs", "dynamic_shapes", "dims", "keep_weights"}


class Graph(NamedTuple):
    """What became of a graph."""
    operators: int
    seconds: float       # that exporting and compiling took
    refused: str         # why it runs in torch; "": it is compiled


graphs: list[Graph] = []     # of this process, in the order of their compilation

_told: set[str] = set()
_programs: weakref.WeakSet[_Program] = weakref.WeakSet()


def backend(module: torch.fx.GraphModule, example_inputs: Sequence, *, mode: str | None = None,
            options: dict[str, Any] | None = None, **_):
    """Compiles a graph of Dynamo's for runs without gradients, and returns what runs it. A graph
    that is refused runs in torch, with a TesseraWarning that says why, once a process and reason.

    options  those of `tessera.compile` by name, without what the graph itself says; and
             fallback  False: what is refused is an error
             check     False: the first results are not compared with torch's
    """
    if mode is not None:
        raise UsageError(f"mode={mode!r} is of torch's own backend",
                         "give options={...} of tessera.compile")
    wanted = {"threads": torch.get_num_threads(), "instances": 8, "progress": False,
              "check": True} | (options or {})
    falls_back = wanted.pop("fallback", True)
    for name in wanted.keys() - _OPTIONS - {"check"}:
        raise UsageError(f"there is no option `{name}`",
                         f"give some of {', '.join(sorted(_OPTIONS))}, check, fallback")
    if not any(node.op.startswith("call_") for node in module.graph.nodes):
        return module.forward
    try:
        return _CompiledGraph(module, example_inputs, wanted, falls_back)
    except RestartAnalysis:
        raise
    except Exception as error:
        return _in_torch(module, error, falls_back)


def _in_torch(module: torch.fx.GraphModule, error: Exception, falls_back: bool):
    if not falls_back or isinstance(error, UsageError):
        raise error
    reason = _reason(error)
    graphs.append(Graph(_traced_graph.operator_count(module.graph), 0.0, reason))
    if reason not in _told:
        _told.add(reason)
        warnings.warn(f"a graph runs in torch: {reason}", TesseraWarning, stacklevel=2)
    return module.forward


def _reason(error: Exception) -> str:
    if isinstance(error, Refused):
        return str(error)
    if isinstance(error, CompileError):
        return f"{error.code}: {error.place}: {error.finding}"
    # What torch.onnx.export raises says at length what to report where; its cause says what it is.
    while error.__cause__ is not None:
        error = error.__cause__
    first = next((line for line in str(error).splitlines() if line.strip()), "")
    return f"{type(error).__name__}: {first}"


@functools.cache
def _decompositions() -> dict:
    """Those of torch.onnx.export, too: what they assume of sizes is a guard while AOTAutograd
    traces, and is lost later. A view stays one of aten: it cannot trace one of `prims` a second
    time. Making the table takes seconds."""
    try:
        from torch import _prims
        from torch.onnx._internal.exporter import _decomp, _registration
        known = _decomp.get_onnx_implemented_overloads(_registration.ONNXRegistry.from_torchlib())
        table = _decomp.create_onnx_friendly_decomposition_table(set(known))
        table = {op: body for op, body in table.items() if not getattr(op, "is_view", False)}
        prims = (getattr(_prims, name, None) for name in _prims.__all__)
        table |= {prim: prim.impl_aten for prim in prims if getattr(prim, "is_view", False)}
    except (ImportError, AttributeError):  # another torch: graphs that need them are refused
        table = {}
    return table | _DECOMPOSED


class _NotCompiled(Exception):
    """A graph was called with weights that it is not compiled for; nothing has been done yet."""

    def __init__(self, args: list):
        self.args_of_graph = args


class _CompiledGraph:
    """AOTAutograd traces it at once. It is compiled when it is called: only then its weights are
    there, and it is called with other ones where modules share their code, or weights are set."""

    def __init__(self, module: torch.fx.GraphModule, example_inputs, options: dict,
                 falls_back: bool):
        _traced_graph.check_values(example_inputs)
        if torch.is_grad_enabled() and any(isinstance(x, torch.Tensor) and x.requires_grad
                                           for x in example_inputs):
            raise Refused("gradients are asked for: call it under torch.no_grad() or "
                          "torch.inference_mode()")
        self._module, self._options, self._falls_back = module, options, falls_back
        self._programs: list[_Program] = []
        self._run = aot_autograd(fw_compiler=self._take_traced,
                                 decompositions=_decompositions())(module, example_inputs)

    def _take_traced(self, traced: torch.fx.GraphModule, _fakes):
        _traced_graph.check_operators(traced.graph)
        metadata = TracingContext.get().fw_metadata
        changed = {i for i, info in enumerate(metadata.input_info) if info.mutates_data}
        self._traced = traced
        self._weights = set(metadata.static_input_indices) - changed
        return make_boxed_func(self._run_traced)

    def _run_traced(self, *args):
        for program in self._programs:
            if program.is_for(args):
                return program(args)
        raise _NotCompiled(args)

    def __call__(self, *args):
        while True:
            try:
                return self._run(*args)
            except _NotCompiled as missing:
                args_of_graph = missing.args_of_graph
            # Neither Dynamo nor torch.onnx.export traces in two threads at a time.
            with compile_lock:
                self._compile(args_of_graph)

    def _compile(self, args: Sequence) -> None:
        if any(program.is_for(args) for program in self._programs):
            return  # another thread has compiled it
        for program in self._programs:
            self._weights -= program.changed(args)
        self._weights = {i for i in self._weights if not args[i].is_inference()}
        self._programs = [p for p in self._programs if p.constants <= self._weights]
        if len(self._programs) >= _MOST_VARIANTS:
            self._weights, self._programs = set(), []  # the others would never be asked again
        try:
            self._programs = [_program(self._traced, args, self._weights, self._options),
                              *self._programs]
        except IndexOutsideError:
            raise  # the caller's, as in torch
        except Exception as error:
            self._run = _in_torch(self._module, error, self._falls_back)


class _Weight:
    """A tensor that is a constant of a library, as long as nobody changes it."""

    def __init__(self, tensor: torch.Tensor):
        self._tensor = weakref.ref(tensor)
        self._version, self._place = tensor._version, tensor.data_ptr()

    def is_of(self, tensor: torch.Tensor) -> bool:
        return self._tensor() is tensor

    def is_as_it_was(self, tensor: torch.Tensor) -> bool:
        return (self._tensor() is tensor and tensor._version == self._version
                and tensor.data_ptr() == self._place)


def _block(tensor: torch.Tensor) -> tuple[int, int]:
    """Address and size of its elements, or of the first of them where they are spread."""
    offset_bytes = tensor.storage_offset() * tensor.element_size()
    return tensor.data_ptr(), min(tensor.nbytes, tensor.untyped_storage().nbytes() - offset_bytes)


class _Program:
    """A graph that is compiled, for one set of weights."""

    def __init__(self, key: str, traced, args: Sequence, constants: set[int], options: dict):
        self.key = key
        self._weights = [(i, _Weight(args[i])) for i in sorted(constants)]
        # What is written past torch, `weight.data.mul_(2)`, has no version.
        self._samples = _runtime.Samples([_block(args[i]) for i, _ in self._weights])
        planned = _traced_graph.plan(traced, args, constants)
        self._inputs, self._results = planned.inputs, planned.results
        options = dict(options)
        is_checked = options.pop("check")
        guards = _traced_graph.guard_count(traced.graph)
        self._model = compile(planned.program, **options)
        if _traced_graph.guard_count(traced.graph) != guards:
            raise Refused("what torch.onnx.export makes of it holds for these sizes alone")
        if len(self._model.inputs) != len(self._inputs):
            raise Refused(f"the exported model has {len(self._model.inputs)} inputs instead of "
                          f"{len(self._inputs)}")
        self._ports = [(i, port.align_bytes) for i, port in zip(self._inputs, self._model.inputs)]
        if is_checked:
            _traced_graph.check_results(self(args), traced(*args), _tolerance(traced, options))

    @property
    def constants(self) -> set[int]:
        return {i for i, _ in self._weights}

    def is_for(self, args: Sequence) -> bool:
        return (all(weight.is_as_it_was(args[i]) for i, weight in self._weights)
                and not self._samples.differing())

    def changed(self, args: Sequence) -> set[int]:
        """The positions of weights that are the same tensors with other values."""
        others = [(i, weight) for i, weight in self._weights if not weight.is_as_it_was(args[i])]
        if not others:  # else the samples' memory may be gone
            return {self._weights[k][0] for k in self._samples.differing()}
        return {i for i, weight in others if weight.is_of(args[i])}

    def __call__(self, args: Sequence) -> list:
        arrays = [_traced_graph.array_of(args[i], align) for i, align in self._ports]
        made = self._model._core.run(arrays, None, True, None)
        return [_traced_graph.finished(result, args, made) for result in self._results]


def _program(traced, args: Sequence, constants: set[int], options: dict) -> _Program:
    """One that is there, where an equal graph was compiled for the same weights."""
    key = _key(traced, constants, options)
    for program in list(_programs):
        if key and program.key == key and program.is_for(args):
            return program
    begin = time.perf_counter()
    # What the caller has switched on is not for the tracing of torch.onnx.export.
    with torch.inference_mode(False), torch.no_grad(), torch.autocast("cpu", enabled=False):
        program = _Program(key, traced, args, constants, options)
    graphs.append(Graph(_traced_graph.operator_count(traced.graph), time.perf_counter() - begin,
                        ""))
    _programs.add(program)
    return program


def _tolerance(traced: torch.fx.GraphModule, options: dict) -> float:
    """That of the coarsest numbers in the graph."""
    types = {node.meta["val"].dtype for node in traced.graph.nodes
             if isinstance(node.meta.get("val"), torch.Tensor)}
    if options.get("precision", "fp32") != "fp32":
        types.add(torch.bfloat16)
    return max((_TOLERANCE.get(dtype, 0.0) for dtype in types), default=0.0)


def _key(traced: torch.fx.GraphModule, constants: set[int], options: dict) -> str:
    """Equal for graphs that compute the same of equal arguments; "" where that is not known, as the
    graph has tensors of its own."""
    if any(True for _ in traced.graph.find_nodes(op="get_attr")):
        return ""
    text = traced.print_readable(print_output=False, include_stride=True)
    # Comments say where in the caller's files it comes from.
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    parts = lines, _traced_graph.ranges(traced.graph), sorted(constants), sorted(options.items())
    return hashlib.sha256(repr(parts).encode()).hexdigest()


if "tessera" not in registry._BACKENDS:
    registry.register_backend(backend, name="tessera")
