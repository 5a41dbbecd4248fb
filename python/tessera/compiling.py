# SPDX-License-Identifier: Apache-2.0
"""`tessera.compile`."""
from __future__ import annotations

import os
import warnings as python_warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import _sources, command, progress as showing
from .errors import CompileError, Error, TesseraWarning, UsageError
from .model import Model, remove_folder
from .report import Report

Size = int | str | range | tuple[int, int] | tuple[int, int, int]
_USAGE, _KILLED = 2, -9


def compile(model: Any, output: str | os.PathLike | None = None, *,
            dims: Mapping[str, Size] | None = None, precision: str = "fp32",
            targets: str | Sequence[str] = (), backends: str | Sequence[str] = (),
            partition: str = "greedy", records: str | os.PathLike | None = None,
            verify: bool = False,
            progress: Callable[[showing.Progress], object] | bool | None = None,
            example_inputs: Sequence[Any] | Mapping[str, Any] | None = None,
            dynamic_shapes: Any = None, keep_weights: str | Sequence[str] = (),
            bundle: str | None = None, threads: int = 0, instances: int = 1,
            require: str | Sequence[str] = (), strict: bool = False,
            options: Sequence[str] = ()) -> Model:
    """Compiles a model to a shared library.

    model      a path of an ONNX model or of Relay text; an ONNX model as bytes or as
               onnx.ModelProto; Relay text; or a torch.nn.Module, with
               example_inputs  a tuple of arguments, or a mapping by their names, and
               dynamic_shapes  as torch.export takes them: their names and ranges are carried over
    output     the library to write. None: a file that goes with the model
    dims       sizes and ranges of the model's open dimensions, by name: 4, (1, 512), or with the
               likely size (1, 512, 128); a range(8, 513, 8) has steps
    precision  "fp32", "fp16", "bf16": what a float32 model is computed in, where the machine has
               instructions for it; "auto": 16 bits where one run is exact enough, see
               options=["--max-error", "1e-2"]
    targets    machines and back ends, in order of priority: "cuda -arch=sm_90a"
    backends   back ends alone: "onednn,blas"
    partition  "greedy", "none", or "collage", which measures on this machine
    records    a file of measurements, to choose by and to add to
    verify     compare each partition with the reference evaluation
    progress   a function that is given tessera.Progress; False: nothing is shown. Otherwise a bar
               is, where standard error is a terminal or this is a notebook
    keep_weights  names of weights that stay parameters, for Model.set_weight; "all"
    bundle     "inside" or "beside": vendors' libraries travel with the result
    threads, instances  of the model that is returned; layouts are chosen for so many threads
    require, strict, options  as the command has them: `python -m tessera compile --help`

    Returns the model, which is loaded when it is first used; its `report` says what was done.
    Raises CompileError with code, place, rule and remedy, UsageError for a wrong argument. Warnings
    are Python's, of the category TesseraWarning.
    """
    import tempfile  # here: `import tessera` is to be quick
    if instances < 1:
        raise UsageError(f"instances={instances} is less than 1")
    if isinstance(options, str):
        raise UsageError(f"options={options!r} is one text", f"give a list: {options.split()}")
    folder = Path(tempfile.mkdtemp(prefix="tessera-python-"))
    try:
        source, ranges = _sources.write_source(model, folder, example_inputs, dynamic_shapes)
        library = Path(output) if output is not None else folder / "model.so"
        page = folder / "report.html"
        arguments = ["compile", _no_option(source), f"--output={library}", f"--report={page}",
                     f"--partition={partition}", f"--precision={precision}",
                     f"--threads={threads}"]
        arguments += [f"--records={os.fspath(records)}"] if records is not None else []
        arguments += (["--verify"] if verify else []) + (["--strict"] if strict else [])
        arguments += [f"--bundle={bundle}"] if bundle else []
        arguments += _list_options({**ranges, **(dims or {})}, targets, backends, keep_weights,
                                   require)
        report = _run([*arguments, *options], page, showing.listener(progress))
    except BaseException:
        remove_folder(folder)
        raise
    made = Model._of_compilation(library, {"threads": threads, "instances": instances}, report,
                                 folder if output is None else None)
    if output is not None:
        remove_folder(folder)
    return made


def _no_option(path: str) -> str:
    return f"./{path}" if path.startswith("-") else path


def dim_text(name: str, size: Size) -> str:
    """What --dim takes: seq=1..512:128, or seq=8..512 step 8."""
    if isinstance(size, range):
        if len(size) == 0 or size.step < 1:
            raise UsageError(f"dims: {name}={size!r} has no size in it")
        return f"{name}={size[0]}..{size[-1]}" + (f" step {size.step}" if size.step > 1 else "")
    if isinstance(size, (tuple, list)):
        if len(size) not in (2, 3):
            raise UsageError(f"dims: {name}={size!r}",
                             "give (least, most) or (least, most, likely)")
        return f"{name}={size[0]}..{size[1]}" + (f":{size[2]}" if len(size) == 3 else "")
    return f"{name}={size}"


def _list_options(dims, targets, backends, keep_weights, require) -> list[str]:
    def listed(value) -> list[str]:
        return [value] if isinstance(value, str) else list(value)

    arguments = []
    for name, size in dims.items():
        arguments += ["--dim", dim_text(name, size)]
    for target in listed(targets):
        arguments += ["--target", target]
    if backends:
        arguments += ["--backends", ",".join(listed(backends))]
    for name in listed(keep_weights):
        arguments += ["--keep-weights", name]
    for name in listed(require):
        arguments += ["--require", name]
    return arguments


def _run(arguments: list[str], page: Path, listener) -> Report:
    try:
        status, diagnostics, data, printed = command.events(
            arguments, showing.handler(listener), hidden=str(page.parent))
    finally:
        if isinstance(listener, showing.Bar):
            listener.close()
    if status == _USAGE:
        raise UsageError(printed.strip().partition("\n")[0])
    if any(d.severity == "error" for d in diagnostics):
        raise CompileError(diagnostics)
    if status != 0 or not data:
        why = "there was too little memory, perhaps" if status == _KILLED else printed.strip()
        raise Error(f"the compiler ended with status {status}: {why}")
    for warning in diagnostics:
        python_warnings.warn(warning.text.strip(), TesseraWarning, stacklevel=3)
    return Report(data, diagnostics, page.read_text(encoding="utf-8"))
