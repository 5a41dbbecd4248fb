# SPDX-License-Identifier: Apache-2.0
"""A compiled model, from its library."""
from __future__ import annotations

import atexit
import json
import os
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from . import _arrays, _runtime, command
from .errors import InputError, MachineError, RunError
from .report import Report

atexit.register(_runtime.stop_running)

_LIBRARY_MISSING = 4


class Port(NamedTuple):
    """An input, an output, or a weight that was kept."""
    name: str
    shape: tuple[int | None, ...]      # None: not known before the run
    min_shape: tuple[int | None, ...]
    max_shape: tuple[int | None, ...]  # None: no bound
    dtype: np.dtype
    align_bytes: int                   # what data must be aligned to
    max_bytes: int                     # for max_shape; 0: no bound
    shares: tuple[int, ...]            # inputs in whose memory an output may be written

    def __str__(self) -> str:
        sizes = ", ".join("?" if size is None else str(size) for size in self.shape)
        return f"{self.name}: {self.dtype}[{sizes}]"


class Model:
    """A library that `tessera.compile` or `tessera compile` made.

    path       the library
    threads    of a run; 0: as many as the process may use CPUs
    instances  how many threads may run it at the same time: each has memory of its own, made when
               it is needed. Other threads wait for their turn, without the interpreter's lock
    replay     False: runs on a GPU are never recorded as a CUDA graph
    nice       added to the nice value of an instance's own threads
    cpus       those that an instance's own threads may use

    `inputs`, `outputs` and `weights` are lists of Port, `target` says what it was compiled for, and
    `report` how, where `tessera.compile` made it.

    Raises MachineError where it was compiled for another CPU or GPU or lacks a vendor's library,
    RunError where there is no such library. It is pickled by its path.
    """

    path: Path
    report: Report | Any  # None where it is of a file
    inputs: list[Port]
    outputs: list[Port]
    weights: list[Port]
    target: str
    load_us: float

    def __init__(self, path: str | os.PathLike, threads: int = 0, *, instances: int = 1,
                 replay: bool = True, nice: int = 0, cpus: Sequence[int] = ()):
        if instances < 1:
            raise InputError(f"instances={instances} is less than 1")
        self.path = Path(path).absolute()
        self.report = None
        self._options = {"threads": threads, "instances": instances, "replay": replay,
                         "nice": nice, "cpus": list(cpus)}
        self._folder = None  # that goes with the model, where it has one
        self._load()

    @classmethod
    def _of_compilation(cls, path: Path, options: dict, report, folder) -> Model:
        """Not loaded before it is used: it may be for another machine."""
        model = cls.__new__(cls)
        model.path, model.report, model._folder = path.absolute(), report, folder
        if folder is not None:
            weakref.finalize(model, remove_folder, folder)
        model._options = {"threads": 0, "instances": 1, "replay": True, "nice": 0,
                          "cpus": []} | options
        return model

    def __getattr__(self, name: str) -> Any:
        # What loading sets, of a model that is not loaded yet.
        if name in _SET_BY_LOADING:
            self._load()
            return self.__dict__[name]
        raise AttributeError(f"a model has no attribute `{name}`")

    def _load(self) -> None:
        start = time.perf_counter()
        path = str(self.path.resolve())
        if not os.path.exists(path):
            raise RunError(f"`{self.path}` does not exist", remedy="check the path", code="E0101")
        try:
            self._core = _runtime.Model(path, **self._options)
        except MachineError as error:
            if error.status != _LIBRARY_MISSING:
                raise
            # Once more, with the packages beside this one.
            os.environ["TESSERA_LIBRARY_PATH"] = command.environment()["TESSERA_LIBRARY_PATH"]
            self._core = _runtime.Model(path, **self._options)
        self.load_us = 1e6 * (time.perf_counter() - start)
        self.inputs = self._ports("input")
        self.outputs = self._ports("output")
        self.weights = self._ports("weight")
        self.target = self._core.target()

    def _ports(self, what: str) -> list[Port]:
        return [Port(*port[:4], _arrays.dtype_of(*port[4]), *port[5:])
                for port in self._core.describe(what)]

    # ---- Running ----

    def __call__(self, *arrays, out=None, copy: bool = True, stream: Any | None = None):
        """Runs the model on arrays in the order of `inputs`. Returns the result, or a tuple of
        them in the order of `outputs`: arrays of torch where the first input is one, else of numpy.

        out     an array, or a sequence of one for each output, to be written in place and returned;
                contiguous, of the output's type, and with room for the result
        copy    False: an array that would have to be copied, since it is not contiguous, is refused
        stream  a CUDA stream: a number, or one of torch or CuPy. All arrays are on the GPU, `out`
                is given, and nothing is waited for

        Raises InputError for a wrong number, type, shape, device or layout, IndexOutsideError for
        an index outside of what it indexes, MemoryShortage where sizes are too large.
        """
        outs = out if out is None or isinstance(out, (list, tuple)) else (out,)
        number = None if stream is None else _arrays.number_of_stream(stream)
        results = self._core.run(arrays, outs, copy, number)
        if outs is None and arrays and not isinstance(arrays[0], np.ndarray):
            results = [_arrays.like(arrays[0], result) for result in results]
        return results[0] if len(results) == 1 else tuple(results)

    def run(self, feeds: Mapping[str, Any], *, out: Mapping[str, Any] | None = None,
            copy: bool = True, stream: Any | None = None) -> dict[str, Any]:
        """The same by names: `feeds` has an array for each input, `out` one for each output."""
        arrays = self._ordered("input", self.inputs, feeds)
        outs = None if out is None else self._ordered("output", self.outputs, out)
        results = self(*arrays, out=outs, copy=copy, stream=stream)
        if len(self.outputs) == 1:
            results = (results,)
        return {port.name: result for port, result in zip(self.outputs, results)}

    def bind(self, feeds: Mapping[str, Any]) -> BoundCall:
        """A function without arguments that runs the model on these arrays, for timing: nothing
        but the call of the library happens in it. They are read where they are, each time, and
        must be contiguous. Its attribute `fetch` copies the results."""
        call = _runtime.Call(self._core, self._ordered("input", self.inputs, feeds), None, None)
        return BoundCall(call, self.outputs)

    def bind_on_stream(self, feeds: Mapping[str, Any], results: Mapping[str, Any],
                       stream: Any) -> BoundCall:
        """A function without arguments that starts the model on a CUDA stream, without waiting for
        it. Inputs and outputs are contiguous arrays on the GPU, of PyTorch or CuPy."""
        call = _runtime.Call(self._core, self._ordered("input", self.inputs, feeds),
                             self._ordered("output", self.outputs, results),
                             _arrays.number_of_stream(stream))
        return BoundCall(call, self.outputs)

    def synchronize(self) -> None:
        """Waits for what was started on streams, and raises its errors."""
        self._core.synchronize()

    @staticmethod
    def _ordered(what: str, ports: list[Port], arrays: Mapping[str, Any]) -> list:
        names = [port.name for port in ports]
        if len(arrays) != len(names) or any(name not in arrays for name in names):
            raise InputError(f"the {what}s are {', '.join(names)}, not {', '.join(arrays)}", 1)
        return [arrays[name] for name in names]

    # ---- What it is, and has ----

    @property
    def metadata(self) -> dict:
        """Inputs, outputs, placement, memory plan, vendors' libraries: docs/abi.md."""
        return json.loads(self._core.metadata_json())

    @property
    def build_id(self) -> str:
        """Equal for equal input, options and compiler."""
        return self._core.build_id()

    def set_weight(self, name: str, value: Any | None) -> None:
        """Runs from now on use these values, which are copied; None: those of the compilation. The
        weight is one that `compile(keep_weights=...)` kept."""
        self._core.set_weight(name, value)

    def memory(self) -> dict[str, int]:
        """What the instances have by now, in bytes, by what it is for: see `tessera_memory`."""
        return self._core.memory()

    def profile(self, on: bool) -> None:
        """Measures each kernel from now on, from zero, or no more."""
        self._core.profile(on)

    def profile_entries(self) -> list[dict]:
        """Of each kernel: `kernel`, `backend`, `calls`, `total_us`, `note`; of all instances."""
        return self._core.profile_entries()

    def close(self) -> None:
        """Gives the memory of the instances back. Raises BusyError while it runs elsewhere."""
        if "_core" in self.__dict__:
            self._core.close()

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def __reduce__(self):
        if self._folder is not None:
            import pickle
            raise pickle.PicklingError("the library goes with this model: give `compile` an output "
                                       "to pickle it by its path")
        return _open, (str(self.path), self._options)

    def __repr__(self) -> str:
        if "_core" not in self.__dict__:
            return f"<tessera.Model {self.path.name}, not loaded>"
        return (f"<tessera.Model {self.path.name}: {', '.join(map(str, self.inputs))} -> "
                f"{', '.join(map(str, self.outputs))}>")


_SET_BY_LOADING = {"_core", "load_us", "inputs", "outputs", "weights", "target"}


class BoundCall:
    """What `bind` returns: for one thread at a time."""

    def __init__(self, call, outputs: list[Port]):
        self._call, self._outputs = call, outputs

    def __call__(self) -> None:
        self._call()

    def fetch(self) -> dict[str, np.ndarray]:
        """Copies of the latest results."""
        return {port.name: result.copy()
                for port, result in zip(self._outputs, self._call.results())}


def remove_folder(path: Path) -> None:
    import shutil
    shutil.rmtree(path, ignore_errors=True)


def _open(path: str, options: dict) -> Model:
    """For pickle."""
    return Model(path, **options)
