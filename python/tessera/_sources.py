# SPDX-License-Identifier: Apache-2.0
"""What `compile` can be given, as a file that the compiler reads."""
from __future__ import annotations

import os
from pathlib import Path

from .errors import UsageError

# Protobuf's own limit: beyond it, weights have to be files of their own.
MOST_PROTO_BYTES = 2**31 - 1


def _is_proto(model) -> bool:
    return hasattr(model, "SerializeToString") and hasattr(model, "graph")


def _is_torch(model) -> bool:
    """A module, or what torch.export or torch.onnx.export has made of one."""
    return any(c.__module__.startswith("torch.")
               and c.__name__ in ("Module", "ExportedProgram", "ONNXProgram")
               for c in type(model).__mro__)


def _serialized(model) -> bytes | None:
    """None: it is more than one message of Protobuf may have, which Protobuf refuses to count."""
    from google.protobuf.message import EncodeError
    try:
        data = model.SerializeToString()
    except EncodeError:
        return None
    return data if len(data) <= MOST_PROTO_BYTES else None


def _write_proto(model, path: Path) -> None:
    data = _serialized(model)
    if data is not None:
        path.write_bytes(data)
        return
    import onnx
    copy = onnx.ModelProto()  # saving takes the weights out of what it is given
    copy.CopyFrom(model)
    onnx.save_model(copy, path, save_as_external_data=True, location="weights")


def _is_relay_text(text: str) -> bool:
    return "\n" in text or text.lstrip().startswith(("#[version", "def @"))


def write_source(model, folder: Path, example_inputs, dynamic_shapes) -> tuple[str, dict]:
    """The name of a file with the model, written into the folder where it is none yet, and the
    ranges of dimensions that the model brings along."""
    if _is_torch(model):
        from . import from_torch
        return from_torch.export(model, folder, example_inputs, dynamic_shapes)
    if example_inputs is not None or dynamic_shapes is not None:
        raise UsageError("example_inputs and dynamic_shapes are for a torch.nn.Module")
    if isinstance(model, (bytes, bytearray, memoryview)):
        (folder / "model.onnx").write_bytes(model)
        return str(folder / "model.onnx"), {}
    if _is_proto(model):
        _write_proto(model, folder / "model.onnx")
        return str(folder / "model.onnx"), {}
    if isinstance(model, str) and _is_relay_text(model):
        (folder / "model.relay").write_text(model, encoding="utf-8")
        return str(folder / "model.relay"), {}
    if isinstance(model, (str, os.PathLike)):
        return os.fspath(model), {}
    raise UsageError(f"a model cannot be {type(model).__name__}",
                     "give a path, bytes or a ModelProto of ONNX, Relay text, or a "
                     "torch.nn.Module")
