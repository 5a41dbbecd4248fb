# SPDX-License-Identifier: Apache-2.0
"""A chain of products by weights of 4 or 8 bits in ggml, llama.cpp's library of kernels, through
its C interface. It is no package's library: PyPI's source of llama-cpp-python has it under
vendor/llama.cpp, and `cmake --build B --target ggml` there makes B/bin/libggml*.so.

Rows of its weights have blocks of 32 elements with a scale in float16 (Q4_0, Q8_0). What is
multiplied by them it rounds to 8 bits in each run."""
import ctypes
from ctypes import POINTER, c_bool, c_char_p, c_int, c_int64, c_size_t, c_void_p
from pathlib import Path

import numpy as np

BLOCK = 32
FLOAT32, TYPES = 0, {4: 2, 8: 8}  # GGML_TYPE_F32, GGML_TYPE_Q4_0, GGML_TYPE_Q8_0


class InitParams(ctypes.Structure):
    _fields_ = [("mem_size", c_size_t), ("mem_buffer", c_void_p), ("no_alloc", c_bool)]


FUNCTIONS = {  # by library: result, arguments
    "ggml-base": {
        "ggml_init": (c_void_p, [InitParams]),
        "ggml_new_tensor_2d": (c_void_p, [c_void_p, c_int, c_int64, c_int64]),
        "ggml_mul_mat": (c_void_p, [c_void_p, c_void_p, c_void_p]),
        "ggml_new_graph": (c_void_p, [c_void_p]),
        "ggml_build_forward_expand": (None, [c_void_p, c_void_p]),
        "ggml_set_input": (None, [c_void_p]),
        "ggml_nbytes": (c_size_t, [c_void_p]),
        "ggml_version": (c_char_p, []),
        "ggml_gallocr_new": (c_void_p, [c_void_p]),
        "ggml_gallocr_alloc_graph": (c_bool, [c_void_p, c_void_p]),
        "ggml_backend_get_device": (c_void_p, [c_void_p]),
        "ggml_backend_dev_backend_reg": (c_void_p, [c_void_p]),
        "ggml_backend_reg_get_proc_address": (c_void_p, [c_void_p, c_char_p]),
        "ggml_backend_get_default_buffer_type": (c_void_p, [c_void_p]),
        "ggml_backend_buft_name": (c_char_p, [c_void_p]),
        "ggml_backend_alloc_ctx_tensors_from_buft": (c_void_p, [c_void_p, c_void_p]),
        "ggml_backend_tensor_set": (None, [c_void_p, c_void_p, c_size_t, c_size_t]),
        "ggml_backend_tensor_get": (None, [c_void_p, c_void_p, c_size_t, c_size_t]),
        "ggml_backend_graph_compute": (c_int, [c_void_p, c_void_p]),
    },
    "ggml-cpu": {
        "ggml_backend_cpu_init": (c_void_p, []),
        "ggml_backend_cpu_set_n_threads": (None, [c_void_p, c_int]),
    },
}


class Ggml:
    """Its functions as attributes."""

    def __init__(self, folder: Path):
        for name, functions in FUNCTIONS.items():
            library = ctypes.CDLL(str(Path(folder) / f"lib{name}.so"), ctypes.RTLD_GLOBAL)
            for function, (result, arguments) in functions.items():
                call = getattr(library, function)
                call.restype, call.argtypes = result, arguments
                setattr(self, function, call)


def rows_of_blocks(packed: np.ndarray, scale: np.ndarray, bits: int) -> bytes:
    """Bytes of MatMulNBits [n, blocks, bytes] and scales [n, blocks] as ggml has them. Of a byte of
    4 bits the low ones are an element of the first half of the block, the others of the second."""
    d = scale.astype(np.float16)[:, :, None].view(np.uint8)
    if bits == 8:
        return np.concatenate([d, packed ^ 128], -1).tobytes()  # signed
    elements = np.stack([packed & 15, packed >> 4], -1).reshape(*packed.shape[:2], BLOCK)
    halves = elements[:, :, :BLOCK // 2] | elements[:, :, BLOCK // 2:] << 4
    return np.concatenate([d, halves], -1).tobytes()


class Chain:
    """x by each of the weights in turn. `kind`: of the memory for weights, whose order in it
    decides the kernels: "CPU", or what else the library has for this machine."""

    def __init__(self, ggml: Ggml, weights, bits: int, rows: int, width: int, threads: int,
                 kind: str):
        self.ggml, self.rows = ggml, rows
        self.backend = ggml.ggml_backend_cpu_init()
        ggml.ggml_backend_cpu_set_n_threads(self.backend, threads)
        room = InitParams(1 << 24, None, True)
        of_weights, of_graph = ggml.ggml_init(room), ggml.ggml_init(room)
        tensors = [ggml.ggml_new_tensor_2d(of_weights, TYPES[bits], packed.shape[1] * BLOCK,
                                           packed.shape[0]) for packed, _ in weights]
        self.kept = ggml.ggml_backend_alloc_ctx_tensors_from_buft(
            of_weights, kinds(ggml, self.backend)[kind])
        for tensor, (packed, scale) in zip(tensors, weights):
            data = rows_of_blocks(packed, scale, bits)
            ggml.ggml_backend_tensor_set(tensor, data, 0, len(data))
        self.x = ggml.ggml_new_tensor_2d(of_graph, FLOAT32, width, rows)
        ggml.ggml_set_input(self.x)
        self.y = self.x
        for tensor in tensors:
            self.y = ggml.ggml_mul_mat(of_graph, tensor, self.y)
        self.columns = weights[-1][0].shape[0]
        self.graph = ggml.ggml_new_graph(of_graph)
        ggml.ggml_build_forward_expand(self.graph, self.y)
        allocator = ggml.ggml_gallocr_new(ggml.ggml_backend_get_default_buffer_type(self.backend))
        assert ggml.ggml_gallocr_alloc_graph(allocator, self.graph)

    def run(self, x: np.ndarray) -> None:
        self.ggml.ggml_backend_tensor_set(self.x, x.ctypes.data, 0, x.nbytes)
        status = self.ggml.ggml_backend_graph_compute(self.backend, self.graph)
        assert status == 0, status

    def result(self) -> np.ndarray:
        y = np.empty((self.rows, self.columns), np.float32)
        self.ggml.ggml_backend_tensor_get(self.y, y.ctypes.data, 0, y.nbytes)
        return y


def kinds(ggml: Ggml, backend) -> dict[str, int]:
    """The kinds of memory for weights, by name."""
    device = ggml.ggml_backend_get_device(backend)
    address = ggml.ggml_backend_reg_get_proc_address(
        ggml.ggml_backend_dev_backend_reg(device), b"ggml_backend_dev_get_extra_bufts")
    found = [ggml.ggml_backend_get_default_buffer_type(backend)]
    if address:
        more = ctypes.CFUNCTYPE(POINTER(c_void_p), c_void_p)(address)(device)
        for i in range(100):
            if not more or not more[i]:
                break
            found.append(more[i])
    return {ggml.ggml_backend_buft_name(kind).decode(): kind for kind in found}


def kinds_here(ggml: Ggml, bits: int) -> list[str]:
    """Of 8 bits in the plain order alone: others have no kernels of Q8_0 everywhere, and end the
    process where they have none (ggml 0.25.3)."""
    found = list(kinds(ggml, ggml.ggml_backend_cpu_init()))
    return found if bits == 4 else found[:1]
