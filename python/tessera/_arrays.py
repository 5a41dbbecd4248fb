# SPDX-License-Identifier: Apache-2.0
"""What the binding asks for where an array is not simply there."""
from __future__ import annotations

import operator
import sys
import warnings

import numpy as np

from .errors import OF_STATUS, InputError, NoArrayError, RunError, TesseraWarning

# Of DLPack: a kind of device, and the number by which producers know the default stream.
_CUDA, _DEFAULT_STREAM = 2, 1


def _as_numpy(array, name: str) -> np.ndarray:
    if isinstance(array, np.ndarray):
        return array
    if hasattr(array, "__array_interface__") or hasattr(array, "__array__"):
        return np.asarray(array)
    raise NoArrayError(f"`{name}` is no array but {type(array).__name__}",
                       remedy="give one of numpy, or of what speaks DLPack")


def buffer_of(array, name: str) -> tuple[object, bool]:
    """An object with the buffer protocol over the same memory; and is it of bfloat16?"""
    array = _as_numpy(array, name)
    if array.dtype.name == "bfloat16":
        return array.view(np.uint16), True
    return array, False


def _is_of_torch(array) -> bool:
    """Is it a tensor of torch? Where there are any, torch has been imported."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def wait_for(array) -> None:
    """Until what fills an array on a GPU is done: the run knows no stream to come after."""
    library = type(array).__module__.partition(".")[0]
    if _is_of_torch(array):
        import torch
        torch.cuda.current_stream(array.device).synchronize()
    elif library == "cupy":
        import cupy
        cupy.cuda.get_current_stream().synchronize()
    elif hasattr(array, "block_until_ready"):  # JAX
        array.block_until_ready()
    else:
        raise InputError(f"what fills an array of {library} on a GPU cannot be waited for", 1,
                         "give stream=, the stream that fills it")


def number_of_stream(stream) -> int:
    """Of a CUDA stream: of torch, of CuPy, or a number already."""
    try:
        number = operator.index(getattr(stream, "cuda_stream", getattr(stream, "ptr", stream)))
    except TypeError:
        number = -1
    if number < 0:
        raise InputError(f"stream={stream!r} is no CUDA stream", 1,
                         "give one of torch or CuPy, or its number")
    return number


def refuse_type(array, name: str) -> None:
    dtype = np.asarray(array).dtype
    raise InputError(f"`{name}`: there is no tensor type for numpy's {dtype}", 1,
                     "convert it to the type that the model has")


def copy_of(array, name: str, align_bytes: int, is_compact: bool, is_refused: bool,
            is_told: bool, stream: int | None):
    """A contiguous and aligned copy."""
    what = (f"`{name}` is not "
            + (f"aligned to {align_bytes} bytes" if is_compact else "contiguous"))
    if is_refused:
        raise InputError(what, 1, "give one that is: copy=False, and a bound call, copy nothing")
    if is_told:
        # Of the user's line: how many frames are the package's depends on how it was called.
        frame, level = sys._getframe(1), 2
        while frame.f_back and frame.f_globals.get("__name__", "").startswith("tessera."):
            frame, level = frame.f_back, level + 1
        warnings.warn(f"{what}: it is copied, for each call", TesseraWarning, stacklevel=level)
    if _is_of_torch(array):
        return _copy_of_torch(array, stream)
    if _is_on_device(array):
        if stream is not None:
            raise InputError(what, 1, "give one that is: with stream=, nothing is waited for, and "
                             "a copy could go before it is read")
        return array.copy()
    if not isinstance(array, np.ndarray) and hasattr(array, "__dlpack__"):
        array = np.from_dlpack(array)
    array = buffer_of(array, name)[0]
    room = np.empty(array.nbytes + align_bytes, np.uint8)
    begin = -room.ctypes.data % align_bytes
    copy = room[begin:begin + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def _is_on_device(array) -> bool:
    return hasattr(array, "__dlpack_device__") and array.__dlpack_device__()[0] == _CUDA


def _copy_of_torch(array, stream: int | None):
    import torch
    copy = array.clone(memory_format=torch.contiguous_format)
    if stream is not None and copy.is_cuda:
        # Its memory is nobody else's before what that stream has by then is done.
        is_default = stream == _DEFAULT_STREAM
        copy.record_stream(torch.cuda.default_stream(copy.device) if is_default
                           else torch.cuda.ExternalStream(stream, copy.device))
    return copy


def part_of(array, shape: list[int]):
    """The first elements, of an array that had more room than a result."""
    return array.reshape(-1)[:int(np.prod(shape, dtype=np.int64))].reshape(tuple(shape))


def as_bfloat16(array: np.ndarray) -> np.ndarray:
    from ml_dtypes import bfloat16
    return array.view(bfloat16)


def dtype_of(code: int, bits: int) -> np.dtype:
    """Numpy's type of a scalar of DLPack."""
    if code == 4:
        from ml_dtypes import bfloat16
        return np.dtype(bfloat16)
    if code == 6:
        return np.dtype(bool)
    kind = {0: "i", 1: "u", 2: "f"}.get(code)
    if kind is None:
        raise RunError(f"no numpy type for tensor type code {code}, {bits} bits")
    return np.dtype(f"{kind}{bits // 8}")


def run_error(status: int, sentence: str) -> RunError:
    """The exception that belongs to a status of the C interface."""
    kind, remedy = OF_STATUS.get(status, (RunError, ""))
    return kind(sentence, status, remedy)


def like(example, result: np.ndarray):
    """The result as an array of the library that the example is of, over the same memory."""
    return as_torch(result) if _is_of_torch(example) else result


def as_torch(result: np.ndarray):
    import torch
    if result.dtype.name == "bfloat16":
        return torch.from_numpy(result.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(result)
