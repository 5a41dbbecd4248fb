# SPDX-License-Identifier: Apache-2.0
"""Compiles a model to one shared library, and runs it.

    import tessera
    model = tessera.compile("model.onnx", "model.so", dims={"batch": (1, 8)})
    y = model(x)                       # arrays of numpy, torch, JAX, CuPy
    model = tessera.Model("model.so")  # later, on this machine or another one

docs/python.md has the whole of it.
"""
import sys as _sys

from ._runtime import version as __version__
from .command import cmake_folder, onnxruntime_library
from .compiling import compile
from .errors import (BusyError, CompileError, Diagnostic, Error, IndexOutsideError, InputError,
                     MachineError, MemoryShortage, RunError, TesseraWarning, UsageError)
from .model import Model, Port
from .progress import Progress
from .report import Report

__all__ = ["BusyError", "CompileError", "Diagnostic", "Error", "IndexOutsideError", "InputError",
           "MachineError", "MemoryShortage", "Model", "Port", "Progress", "Report", "RunError",
           "TesseraWarning", "UsageError", "__version__", "cmake_folder", "compile",
           "onnxruntime_library"]

if "torch._dynamo.backends.registry" in _sys.modules:
    # Where torch comes later, it finds the entry point of the package.
    from . import torch_backend as _torch_backend  # noqa: F401
