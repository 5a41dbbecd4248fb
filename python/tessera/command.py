# SPDX-License-Identifier: Apache-2.0
"""The command `tessera`, which lies beside this file: where it is, and how it is started."""
from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from .errors import Diagnostic, Error, Note


def path() -> str:
    command = Path(__file__).parent / "bin" / "tessera"
    if not command.exists():
        raise Error(f"{command} is missing: install the package again")
    return str(command)


def cmake_folder() -> str:
    """What CMake's find_package(tessera) takes as tessera_DIR; docs/embedding.md."""
    return str(Path(__file__).parent / "lib" / "cmake" / "tessera")


def _folder_of_onednn() -> list[str]:
    from importlib.metadata import PackageNotFoundError, files
    try:
        found = [f for f in files("onednn-cpu-tbb") or [] if f.name == "libdnnl.so.3"]
    except PackageNotFoundError:
        return []
    return [str(Path(f.locate()).resolve().parent) for f in found]


def library_folders() -> list[str]:
    """Where packages beside this one have vendors' libraries."""
    site = Path(__file__).resolve().parents[1]
    others = [site / "openvino" / "libs", site / "nvidia" / "cu13" / "lib",
              site / "nvidia" / "cudnn" / "lib"]
    return _folder_of_onednn() + [str(f) for f in others if f.is_dir()]


def _cutlass_headers() -> dict[str, str]:
    found = Path(__file__).resolve().parents[1] / "cutlass_library" / "source" / "include"
    return {"TESSERA_CUTLASS_INCLUDE": str(found)} if found.is_dir() else {}


def environment() -> dict[str, str]:
    """That of this process, with what packages beside this one have; what the user names comes
    first."""
    named = os.environ.get("TESSERA_LIBRARY_PATH", "")
    folders = ([named] if named else []) + library_folders()
    return _cutlass_headers() | os.environ | {"TESSERA_LIBRARY_PATH": ":".join(folders)}


def onnxruntime_library() -> str:
    """The execution provider for onnxruntime, to be registered with it:

        onnxruntime.register_execution_provider_library("tessera", tessera.onnxruntime_library())

    From then on this process finds vendors' libraries of packages, as the compiler does. Raises
    Error, with code E0502, where the package was built without onnxruntime's headers."""
    library = Path(__file__).parent / "lib" / "libtessera_onnxruntime.so"
    if not library.exists():
        raise Error("this package has no execution provider, as it was built without the headers "
                    "of onnxruntime", "build it after `scripts/install-deps.sh --onnxruntime`, or "
                    "where ONNXRUNTIME_ROOT names them", "E0502")
    os.environ["TESSERA_LIBRARY_PATH"] = environment()["TESSERA_LIBRARY_PATH"]
    return str(library)


def explanation(code: str) -> str:
    import subprocess
    said = subprocess.run([path(), "explain", code], stdout=subprocess.PIPE, text=True)
    return said.stdout.strip().removeprefix(f"{code}: ")


def _diagnostic(event: dict) -> Diagnostic:
    notes = tuple(Note(n["place"], n["text"]) for n in event["notes"])
    return Diagnostic(event["severity"], event["code"], event["place"], event["finding"],
                      event["rule"], event["remedy"], notes, event["text"])


def _event(line: bytes, prefix: bytes) -> tuple[str, dict]:
    """Its kind and members. What libraries print of themselves, and a line that a crash has cut, is
    of no kind."""
    try:
        event = json.loads(line.replace(prefix, b"") if prefix else line)
        return event.pop("event"), event
    except (ValueError, KeyError, AttributeError, TypeError):
        return "", {}


def events(arguments: list[str], handle,
           hidden: str = "") -> tuple[int, list[Diagnostic], dict, str]:
    """Runs `tessera ARGUMENTS --events` in a process of its own and gives its stages and progress
    to `handle` as they come. Returns exit status, diagnostics, report, and what it printed beside;
    the folder `hidden` is in no name of a file there.

    It is not this process that compiles: tuning measures in forked children,
    which torch's threads and a GPU in use would not survive, and whatever ends it (memory, Ctrl-C)
    leaves this one as it was.
    """
    import subprocess
    import tempfile
    diagnostics, report = [], {}
    prefix = f"{hidden}/".encode() if hidden else b""
    with tempfile.TemporaryFile() as printed:
        # A session of its own: Ctrl-C comes here first, and from here there.
        process = subprocess.Popen([path(), *arguments, "--events"], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=printed, env=environment(),
                                   start_new_session=True)
        try:
            for line in process.stdout:
                kind, event = _event(line, prefix)
                if kind == "diagnostic":
                    diagnostics.append(_diagnostic(event))
                elif kind == "report":
                    report = event
                elif kind:
                    handle(kind, event)
            status = process.wait()
        finally:
            if process.poll() is None:
                process.terminate()  # it ends the compilers that it runs, and removes its folders
                process.wait()
            process.stdout.close()
        printed.seek(0)
        return status, diagnostics, report, printed.read().decode(errors="replace")


def replace_process(arguments: list[str]) -> None:
    """Becomes the command."""
    sys.stdout.flush()
    os.execve(path(), ["tessera", *arguments], environment())
