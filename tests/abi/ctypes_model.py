# SPDX-License-Identifier: Apache-2.0
"""A library made by `tessera compile`: the C interface of include/tessera/model.h as tests and
benchmarks call it where the package of python/ is not built, or not for this Python:
ctypes and numpy, and libraries of other versions of the interface.

    model = ctypes_model.Model("minilm.so", threads=2)
    outputs = model.run({"input_ids": ids, "attention_mask": mask, "token_type_ids": kinds})
"""
import ctypes
import json
import time
from collections.abc import Sequence
from ctypes import POINTER, Structure, byref, c_char_p, c_int32, c_int64, c_uint8, c_uint16, \
    c_uint32, c_uint64, c_void_p, sizeof
from pathlib import Path

import numpy as np

ABI_VERSION = 2
CPU, CUDA = 1, 2
INT, UINT, FLOAT, BFLOAT, BOOL = 0, 1, 2, 4, 6  # dtype codes, DLPack's


class Error(RuntimeError):
    """A call of the library failed; the text is its own."""


class DType(Structure):
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class Device(Structure):
    _fields_ = [("device_type", c_int32), ("device_id", c_int32)]


class Tensor(Structure):
    _fields_ = [("data", c_void_p), ("device", Device), ("ndim", c_int32), ("dtype", DType),
                ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)),
                ("byte_offset", c_uint64)]


class ModelOptions(Structure):
    _fields_ = [("struct_bytes", c_uint32), ("abi_version", c_uint32)]


class InstanceOptions(Structure):
    _fields_ = [("struct_bytes", c_uint32), ("threads", c_int32), ("device", Device),
                ("allocator", c_void_p), ("pools", c_void_p), ("pool_count", c_int32),
                ("profile", c_int32), ("no_replay", c_int32), ("thread_nice", c_int32),
                ("thread_pool", c_void_p), ("thread_cpus", POINTER(c_int32)),
                ("thread_cpu_count", c_int32), ("repeats", c_int32),
                ("pool_memory", c_void_p), ("weight_copies", c_int32), ("same_inputs", c_int32)]


class IO(Structure):
    _fields_ = [("struct_bytes", c_uint32), ("ndim", c_int32), ("name", c_char_p),
                ("shape", POINTER(c_int64)), ("min_shape", POINTER(c_int64)),
                ("max_shape", POINTER(c_int64)), ("dtype", DType), ("align_bytes", c_uint32),
                ("max_bytes", c_uint64), ("shares", POINTER(c_int32)), ("share_count", c_int32),
                ("pad", c_int32)]


class Memory(Structure):
    _fields_ = [("struct_bytes", c_uint32), ("pad", c_int32), ("constant_bytes", c_uint64),
                ("pool_bytes", c_uint64), ("other_bytes", c_uint64), ("pinned_bytes", c_uint64)]


class ProfileEntry(Structure):
    _fields_ = [("struct_bytes", c_uint32), ("pad", c_int32), ("kernel", c_char_p),
                ("backend", c_char_p), ("calls", c_uint64), ("total_ns", c_uint64),
                ("min_ns", c_uint64), ("last_start_ns", c_uint64), ("last_ns", c_uint64),
                ("note", c_char_p)]


def to_dtype(array: np.ndarray) -> DType:
    kinds = {"i": INT, "u": UINT, "f": FLOAT, "b": BOOL}
    code = BFLOAT if array.dtype.name == "bfloat16" else kinds.get(array.dtype.kind)
    if code is None:
        raise Error(f"no tensor type for numpy's {array.dtype}")
    return DType(code, 8 * array.dtype.itemsize, 1)


def to_numpy_dtype(dtype: DType) -> np.dtype:
    if dtype.code == BOOL:
        return np.dtype(bool)
    if dtype.code == BFLOAT:
        from ml_dtypes import bfloat16  # which numpy does not have
        return np.dtype(bfloat16)
    kind = {INT: "i", UINT: "u", FLOAT: "f"}.get(dtype.code)
    if kind is None:
        raise Error(f"no numpy type for tensor type code {dtype.code}, {dtype.bits} bits")
    return np.dtype(f"{kind}{dtype.bits // 8}")


def aligned(array: np.ndarray, align_bytes: int) -> np.ndarray:
    """The array, or a copy of it, contiguous and at an address that is a multiple."""
    array = np.ascontiguousarray(array).reshape(np.shape(array))
    if array.ctypes.data % max(align_bytes, 1) == 0:
        return array
    room = np.empty(array.nbytes + align_bytes, np.uint8)
    begin = -room.ctypes.data % align_bytes
    copy = room[begin:begin + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


class Model:
    """One model and one instance of it: for one thread at a time. Without `replay`, runs on a
    device are never recorded as a CUDA graph. `nice` is added to the nice value of the instance's
    own threads, and `cpus` are those that they may use; a vendor library's threads know neither."""

    def __init__(self, path, threads: int = 0, replay: bool = True, nice: int = 0,
                 cpus: Sequence[int] = ()):
        self._model, self._instance = c_void_p(), c_void_p()
        start = time.perf_counter()
        self._library = ctypes.CDLL(str(Path(path).resolve()))
        for name in ("tessera_last_error", "tessera_metadata_json", "tessera_target"):
            getattr(self._library, name).restype = c_char_p
        options = ModelOptions(sizeof(ModelOptions), ABI_VERSION)
        self._check(self._library.tessera_model_create(byref(options), byref(self._model)))
        self.load_us = 1e6 * (time.perf_counter() - start)
        start = time.perf_counter()
        wanted = InstanceOptions(struct_bytes=sizeof(InstanceOptions), threads=threads,
                                 no_replay=not replay, thread_nice=nice,
                                 thread_cpu_count=len(cpus))
        if cpus:
            wanted.thread_cpus = (c_int32 * len(cpus))(*cpus)
        self._check(self._library.tessera_instance_create(self._model, byref(wanted),
                                                          byref(self._instance)))
        self.instance_us = 1e6 * (time.perf_counter() - start)
        self.inputs = self._describe("input")
        self.outputs = self._describe("output")
        # Those that `compile --keep-weights` kept; libraries of older compilers have none.
        self.weights = (self._describe("weight")
                        if hasattr(self._library, "tessera_model_weight") else [])

    def close(self) -> None:
        if self._instance:
            self._library.tessera_instance_destroy(self._instance)
        if self._model:
            self._library.tessera_model_destroy(self._model)
        self._instance, self._model = c_void_p(), c_void_p()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def metadata(self) -> dict:
        return json.loads(self._library.tessera_metadata_json())

    def bind(self, feeds: dict[str, np.ndarray]):
        """A function without arguments that runs the model on these arrays, for timing: nothing
        but the call of the library happens in it. Its attribute `fetch` copies the outputs."""
        names = [io.name.decode() for io in self.inputs]
        if feeds.keys() != set(names):
            raise Error(f"the inputs are {', '.join(names)}, not {', '.join(feeds)}")
        arrays = [aligned(feeds[n], io.align_bytes) for n, io in zip(names, self.inputs)]
        inputs = (Tensor * len(arrays))(*map(self._tensor, arrays))
        outputs = (Tensor * len(self.outputs))()
        run, instance = self._library.tessera_instance_run, self._instance
        counts = len(inputs), len(outputs)

        def call() -> None:
            for tensor in outputs:  # the instance's own memory, each time
                tensor.data = None
            if run(instance, inputs, counts[0], outputs, counts[1]):
                self._check(1)

        call.arrays = arrays  # the tensors point into them
        call.fetch = lambda: {io.name.decode(): self._copy(tensor)
                              for io, tensor in zip(self.outputs, outputs)}
        return call

    def bind_on_stream(self, feeds: dict, results: dict, stream: int):
        """A function without arguments that starts the model on a CUDA stream, without waiting for
        it. Inputs and outputs are objects on the device with `__cuda_array_interface__`: CuPy's
        arrays, PyTorch's tensors."""
        inputs = self._device_tensors("input", self.inputs, feeds)
        outputs = self._device_tensors("output", self.outputs, results)
        run, instance = self._library.tessera_instance_run_on_stream, self._instance
        counts = len(inputs), len(outputs)

        def call() -> None:
            if run(instance, c_void_p(stream), inputs, counts[0], outputs, counts[1]):
                self._check(1)

        call.arrays = feeds, results  # the tensors point into them
        return call

    @staticmethod
    def _device_tensors(what: str, ios: list[IO], arrays: dict):
        names = [io.name.decode() for io in ios]
        if arrays.keys() != set(names):
            raise Error(f"the {what}s are {', '.join(names)}, not {', '.join(arrays)}")
        tensors = (Tensor * len(ios))()
        for tensor, name in zip(tensors, names):
            array = arrays[name].__cuda_array_interface__
            if array.get("strides") is not None:
                raise Error(f"{what} {name} is not contiguous")
            shape = array["shape"]
            # numpy has no name for it, nor has this interface.
            is_bfloat16 = str(arrays[name].dtype).endswith("bfloat16")
            dtype = (DType(BFLOAT, 16, 1) if is_bfloat16
                     else to_dtype(np.empty(0, np.dtype(array["typestr"]))))
            tensor.data, tensor.device = array["data"][0], Device(CUDA, 0)
            tensor.ndim, tensor.dtype = len(shape), dtype
            tensor.shape = (c_int64 * len(shape))(*shape)
        return tensors

    def run(self, feeds: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        call = self.bind(feeds)
        call()
        return call.fetch()

    def set_weight(self, name: str, value: np.ndarray | None) -> None:
        """Runs from now on use these values, which are copied; None: those of the compilation."""
        tensor = None if value is None else byref(self._tensor(aligned(np.asarray(value), 1)))
        self._check(self._library.tessera_instance_set_weight(self._instance, name.encode(),
                                                              tensor))

    def memory(self) -> dict[str, int]:
        """What the instance has by now, in bytes, by what it is for: see `tessera_memory`."""
        if not hasattr(self._library, "tessera_instance_memory"):
            raise Error("the library is of an older compiler: it cannot say what memory it has")
        memory = Memory(struct_bytes=sizeof(Memory))
        self._check(self._library.tessera_instance_memory(self._instance, byref(memory)))
        return {name: getattr(memory, name) for name, _ in Memory._fields_
                if name.endswith("_bytes") and name != "struct_bytes"}

    def profile(self, on: bool) -> None:
        """Measures each kernel from now on, from zero, or no more."""
        self._check(self._library.tessera_instance_profile(self._instance, int(on)))

    def profile_entries(self) -> list[dict]:
        entries = []
        for index in range(self._library.tessera_instance_profile_count(self._instance)):
            entry = ProfileEntry(struct_bytes=sizeof(ProfileEntry))
            self._check(self._library.tessera_instance_profile_entry(self._instance, index,
                                                                     byref(entry)))
            entries.append({"kernel": entry.kernel.decode(), "backend": entry.backend.decode(),
                            "calls": entry.calls, "total_us": entry.total_ns / 1e3,
                            "note": entry.note.decode() if entry.note else ""})
        return entries

    def _check(self, status: int) -> None:
        if status:
            raise Error(self._library.tessera_last_error().decode())

    def _describe(self, what: str) -> list[IO]:
        count = getattr(self._library, f"tessera_model_{what}_count")(self._model)
        found = []
        for index in range(count):
            io = IO(struct_bytes=sizeof(IO))
            self._check(getattr(self._library, f"tessera_model_{what}")(self._model, index,
                                                                        byref(io)))
            found.append(io)
        return found

    @staticmethod
    def _tensor(array: np.ndarray) -> Tensor:
        shape = (c_int64 * array.ndim)(*array.shape)
        return Tensor(array.ctypes.data, Device(CPU, 0), array.ndim, to_dtype(array), shape, None,
                      0)

    @staticmethod
    def _copy(tensor: Tensor) -> np.ndarray:
        shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
        dtype = to_numpy_dtype(tensor.dtype)
        count = int(np.prod(shape, dtype=np.int64))
        if count == 0:
            return np.empty(shape, dtype)
        data = ctypes.string_at(tensor.data + tensor.byte_offset, count * dtype.itemsize)
        return np.frombuffer(data, dtype).reshape(shape).copy()
