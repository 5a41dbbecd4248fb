#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The C interface of a library for CUDA, called with torch's tensors.

    tests/abi/cuda_client.py compile TESSERA FOLDER
    tests/abi/cuda_client.py check FOLDER

`compile` makes three libraries with TESSERA, the command: it needs nvcc and CUTLASS's headers, and
no GPU. `check`, perhaps on another machine, runs them: host tensors and device tensors, runs on a
stream of the caller's, on two in turn and while the stream is captured, refusals, that memory is
given back, a kernel of CUTLASS whose first launch is captured, and caches of a decoder that are
input and output at once. It needs a GPU and torch; exit status 77 where there is none.
"""
import ctypes
import os
import subprocess
import sys
from ctypes import POINTER, Structure, byref, c_char_p, c_int32, c_int64, c_uint8, c_uint16, \
    c_uint64, c_void_p
from pathlib import Path

try:
    import torch
except ImportError:
    torch = None

CPU, CUDA, CUDA_HOST = 1, 2, 3
ROWS, COLUMNS = 512, 1000
NATIVE = f"""#[version = "0.0.5"]
def @main(%x: Tensor[({ROWS}, {COLUMNS}), float32], %w: Tensor[({COLUMNS}), float32]) {{
  %0 = multiply(%x, %w);
  %1 = nn.softmax(%0);
  transpose(%1, axes=[1, 0])
}}
"""
UNITS, TERMS = 128, 256
PRODUCT = f"""#[version = "0.0.5"]
def @main(%x: Tensor[({ROWS}, {TERMS}), float16], %w: Tensor[({UNITS}, {TERMS}), float16]) {{
  nn.dense(%x, %w, units={UNITS})
}}
"""
HEADS, PLACES, WIDTH = 4, 64, 32
DECODER = f"""#[version = "0.0.5"]
def @main(%past_k: Tensor[({HEADS}, {PLACES}, {WIDTH}), float32],
          %past_v: Tensor[({HEADS}, {PLACES}, {WIDTH}), float32],
          %x: Tensor[({HEADS}, 1, {WIDTH}), float32],
          %place: Tensor[({HEADS}, 1, {WIDTH}), int64]) {{
  %0 = scatter_elements(%past_k, %place, %x, axis=1);
  %1 = nn.relu(%x);
  %2 = scatter_elements(%past_v, %place, %1, axis=1);
  %3 = nn.batch_matmul(%x, %0, transpose_b=True);
  %4 = nn.softmax(%3);
  %5 = nn.batch_matmul(%4, %2);
  (%5, %0, %2)
}}
"""
MODELS = {"native": (NATIVE, ["--target", "cuda"]),
          "decoder": (DECODER, ["--target", "cuda"]),
          "product": (PRODUCT, ["--target", "cuda", "--target", "cutlass", "--require", "cutlass"])}


class Device(Structure):
    _fields_ = [("type", c_int32), ("id", c_int32)]


class Dtype(Structure):
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class Tensor(Structure):
    _fields_ = [("data", c_void_p), ("device", Device), ("ndim", c_int32), ("dtype", Dtype),
                ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)),
                ("byte_offset", c_uint64)]


def view(t, device=None):
    """A tessera_tensor of a torch tensor, which stays alive beside it."""
    kind = CUDA if t.is_cuda else CPU
    shape = (c_int64 * t.dim())(*t.shape)
    dtype = Dtype(2 if t.is_floating_point() else 0, 8 * t.element_size(), 1)
    return Tensor(t.data_ptr(), Device(device or kind, 0), t.dim(), dtype, shape, None, 0)


class Instance:
    def __init__(self, path):
        self.lib = ctypes.CDLL(str(path))
        self.lib.tessera_last_error.restype = c_char_p
        self.model, self.instance = c_void_p(), c_void_p()
        self.check(self.lib.tessera_model_create(None, byref(self.model)))
        self.check(self.lib.tessera_instance_create(self.model, None, byref(self.instance)))

    def error(self):
        return self.lib.tessera_last_error().decode()

    def check(self, status):
        assert status == 0, self.error()

    def run(self, inputs, *outputs, stream=None):
        array, out = (Tensor * len(inputs))(*inputs), (Tensor * len(outputs))(*outputs)
        counted = array, len(inputs), out, len(outputs)
        if stream is None:
            status = self.lib.tessera_instance_run(self.instance, *counted)
        else:
            status = self.lib.tessera_instance_run_on_stream(
                self.instance, c_void_p(stream.cuda_stream), *counted)
        return status, out[0]

    def device_ns(self):
        ns = c_uint64()
        self.check(self.lib.tessera_instance_device_ns(self.instance, byref(ns)))
        return ns.value

    def close(self):
        self.lib.tessera_instance_destroy(self.instance)
        self.lib.tessera_model_destroy(self.model)


def expected(x, w):
    return torch.softmax(x.double() * w.double(), -1).t().float()


def near(found, wanted, most=1e-6):
    error = (found.cpu() - wanted.cpu()).abs().max().item()
    assert error < most, error


def compile_all(tessera, folder):
    folder.mkdir(parents=True, exist_ok=True)
    headers = os.environ.get("TESSERA_CUTLASS_INCLUDE")  # where they are not beside the command
    for name, (text, options) in MODELS.items():
        model = folder / f"{name}.relay"
        model.write_text(text)
        options = [f"cutlass -include={headers}" if headers and o == "cutlass"
                   and options[i - 1] == "--target" else o for i, o in enumerate(options)]
        subprocess.run([tessera, "compile", model, "-o", model.with_suffix(".so"), *options],
                       check=True, stdout=subprocess.DEVNULL)


def check_all(folder):
    if torch is None or not torch.cuda.is_available():
        sys.exit(77)
    torch.cuda.init()
    check_native(folder / "native.so")
    check_first_launch_in_a_capture(folder / "product.so")
    check_caches_in_place(folder / "decoder.so")
    print("all good")


def check_first_launch_in_a_capture(library):
    """The code of the kernel is loaded while the stream is captured."""
    instance = Instance(library)
    x = torch.randn(ROWS, TERMS, device="cuda").half()
    w = (torch.randn(UNITS, TERMS, device="cuda") / 16).half()
    y = torch.zeros(ROWS, UNITS, device="cuda", dtype=torch.half)
    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, stream=stream):
        status, _ = instance.run([view(x), view(w)], view(y), stream=stream)
        instance.check(status)
    torch.cuda.synchronize()
    assert y.abs().max().item() == 0  # it was captured, and not run
    for _ in range(2):
        x.normal_()
        y.zero_()
        graph.replay()
        torch.cuda.synchronize()
        near(y.float(), x.float() @ w.float().t(), 1e-2)
    y.zero_()
    torch.cuda.synchronize()
    status, _ = instance.run([view(x), view(w)], view(y), stream=stream)
    instance.check(status)
    stream.synchronize()
    near(y.float(), x.float() @ w.float().t(), 1e-2)
    del graph
    instance.close()


def check_caches_in_place(library):
    """Steps with caches that are `past` and `present` give what separate ones give, bit for bit:
    on the device and in host memory, on a stream, where the third run is replayed, and captured."""
    instance, stream = Instance(library), torch.cuda.Stream()
    size = HEADS, PLACES, WIDTH

    def step(caches, presents, x, place, result, stream=None):
        tensors = [view(t) for t in (*caches, x, place)]
        status, _ = instance.run(tensors, view(result), *map(view, presents), stream=stream)
        return status

    for device in ("cuda", "cpu"):
        apart = [torch.randn(size, device=device) for _ in range(2)]
        shared = [t.clone() for t in apart]
        x = torch.empty(HEADS, 1, WIDTH, device=device)
        place = torch.empty(HEADS, 1, WIDTH, device=device, dtype=torch.int64)
        results = [torch.empty(HEADS, 1, WIDTH, device=device) for _ in range(2)]
        on = stream if device == "cuda" else None
        for at in range(8):
            x.normal_()
            place.fill_(7 * at % PLACES)
            presents = [torch.empty_like(t) for t in apart]
            torch.cuda.synchronize()
            instance.check(step(apart, presents, x, place, results[0], on))
            apart = presents
            torch.cuda.synchronize()
            instance.check(step(shared, shared, x, place, results[1], on))
            torch.cuda.synchronize()
            assert torch.equal(results[0], results[1]), at
            assert all(map(torch.equal, apart, shared)), at
        # The same tensors from run to run.
        for _ in range(4):
            x.normal_()
            torch.cuda.synchronize()
            before = [t.clone() for t in shared]
            instance.check(step(shared, shared, x, place, results[1], on))
            torch.cuda.synchronize()
            presents = [torch.empty_like(t) for t in shared]
            instance.check(step(before, presents, x, place, results[0], on))
            torch.cuda.synchronize()
            assert torch.equal(results[0], results[1])
            assert all(map(torch.equal, presents, shared))
        # Refusals: the wrong cache, a part of it, one memory for two results.
        assert step(shared, shared[::-1], x, place, results[1], on) == 1
        assert "lies in the memory of input" in instance.error(), instance.error()
        large = torch.zeros(2 * HEADS, PLACES, WIDTH, device=device)
        pieces = [large[:HEADS], large[1:HEADS + 1]]
        assert step([pieces[0], shared[1]], [pieces[1], shared[1]], x, place, results[1], on) == 1
        assert "overlap in part" in instance.error(), instance.error()
        assert step(apart, [shared[0], shared[0]], x, place, results[1], on) == 1
        assert "overlap: give each its own memory" in instance.error(), instance.error()
        assert large.abs().max().item() == 0
        torch.cuda.synchronize()
    instance.close()


def check_native(library):
    instance = Instance(library)
    w = torch.randn(COLUMNS)
    device_w = w.cuda()
    # Host tensors, several runs: the third is replayed.
    for i in range(4):
        x, y = torch.randn(ROWS, COLUMNS), torch.empty(COLUMNS, ROWS)
        status, _ = instance.run([view(x), view(w)], view(y))
        instance.check(status)
        near(y, expected(x, w))
    assert 0 < instance.device_ns() < 1_000_000_000
    # Device tensors with the results' memory the caller's, on two streams in turn.
    streams = [torch.cuda.Stream(), torch.cuda.Stream()]
    for i in range(6):
        x = torch.randn(ROWS, COLUMNS, device="cuda")
        y = torch.empty(COLUMNS, ROWS, device="cuda")
        torch.cuda.synchronize()
        status, _ = instance.run([view(x), view(device_w)], view(y), stream=streams[i % 2])
        instance.check(status)
        streams[i % 2].synchronize()
        near(y, expected(x, device_w))
    # The same tensors again and again: recorded and replayed, with new data each time.
    x = torch.empty(ROWS, COLUMNS, device="cuda")
    for i in range(4):
        with torch.cuda.stream(streams[0]):
            x.normal_()
        status, _ = instance.run([view(x), view(device_w)], view(y), stream=streams[0])
        instance.check(status)
        streams[0].synchronize()
        near(y, expected(x, device_w))
    # In a graph of the caller's.
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=streams[1]):
        status, _ = instance.run([view(x), view(device_w)], view(y), stream=streams[1])
        instance.check(status)
    x.normal_()
    y.zero_()
    graph.replay()
    torch.cuda.synchronize()
    near(y, expected(x, device_w))
    # Refusals.
    host = torch.randn(ROWS, COLUMNS)
    status, _ = instance.run([view(host), view(device_w)], view(y), stream=streams[0])
    assert status == 1 and "is in host memory" in instance.error(), instance.error()
    status, _ = instance.run([view(host, CUDA), view(device_w)], view(y), stream=streams[0])
    assert status == 1 and "said to be on the device" in instance.error(), instance.error()
    status, _ = instance.run([view(x, CPU), view(w)], view(y, CPU))
    assert status == 1 and "said to be in host memory" in instance.error(), instance.error()
    for small in (y[:-1], torch.empty(COLUMNS - 1, ROWS)):
        status, given = instance.run([view(x), view(device_w)], view(small))
        assert status == 1 and f"needs {y.nbytes} bytes" in instance.error(), instance.error()
        assert given.data == small.data_ptr()
    instance.check(instance.lib.tessera_instance_synchronize(instance.instance))
    # Memory goes with the instances.
    instance.close()
    torch.cuda.synchronize()
    before = torch.cuda.mem_get_info()[0]
    for _ in range(20):
        other = Instance(library)
        status, _ = other.run([view(x), view(device_w)], view(y), stream=streams[0])
        other.check(status)
        other.close()
    torch.cuda.synchronize()
    assert before - torch.cuda.mem_get_info()[0] < (64 << 20)


if __name__ == "__main__":
    if sys.argv[1:2] == ["compile"] and len(sys.argv) == 4:
        compile_all(sys.argv[2], Path(sys.argv[3]))
    elif sys.argv[1:2] == ["check"] and len(sys.argv) == 3:
        check_all(Path(sys.argv[2]))
    else:
        sys.exit(__doc__)
