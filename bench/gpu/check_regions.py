#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs functions of regions on a GPU, as the host program would call them, against torch in
float32.

    check_regions.py FOLDER

It holds encoder_layer.so, products.so, integers.so, float8.so, odd_rows.so, tf32.so,
convolutions.so and integer_convolutions.so, or some of them: what nvcc makes of the sources that
tessera_write_cutlass_sources writes for the .relay files here.
check_regions.sh does all of that.
"""
import ctypes
import sys
from pathlib import Path

import torch


class Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class DType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", Device), ("ndim", ctypes.c_int32),
                ("dtype", DType), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class Call(ctypes.Structure):
    pass


SET_ERROR = ctypes.CFUNCTYPE(None, ctypes.POINTER(Call), ctypes.c_char_p)
Call._fields_ = [("struct_bytes", ctypes.c_uint32), ("threads", ctypes.c_int32), ("device", Device),
                 ("stream", ctypes.c_void_p), ("workspace", ctypes.c_void_p),
                 ("workspace_bytes", ctypes.c_uint64), ("states", ctypes.c_void_p),
                 ("set_error", SET_ERROR), ("runtime", ctypes.c_void_p)]


@SET_ERROR
def set_error(_call, text):
    print("error:", text.decode())


WORKSPACE = torch.empty(1 << 20, dtype=torch.uint8, device="cuda")
CODES = {torch.float16: (2, 16), torch.bfloat16: (4, 16), torch.float32: (2, 32),
         torch.int8: (0, 8), torch.uint8: (1, 8), torch.int32: (0, 32)}


def run(library, symbol, *tensors):
    """Calls the function with inputs and outputs on torch's current stream."""
    views, keep = [], []
    for t in tensors:
        shape = (ctypes.c_int64 * t.dim())(*t.shape)
        code, bits = CODES[t.dtype]
        views.append(Tensor(t.data_ptr(), Device(2, 0), t.dim(), DType(code, bits, 1), shape, None,
                            0))
        keep.append(shape)
    pointers = (ctypes.POINTER(Tensor) * len(views))(*map(ctypes.pointer, views))
    call = Call(ctypes.sizeof(Call), 1, Device(2, 0), torch.cuda.current_stream().cuda_stream,
                WORKSPACE.data_ptr(), WORKSPACE.numel(), None, set_error, None)
    status = getattr(library, symbol)(ctypes.byref(call), pointers, len(views))
    if status != 0:
        sys.exit(f"{symbol}: status {status}")


WRONG = []


def verdict(name, is_right, text):
    print(f"{'ok' if is_right else 'WRONG'} {name}: {text}", flush=True)
    if not is_right:
        WRONG.append(name)


def report(name, got, wanted, limit=1e-3):
    error = ((got.float() - wanted).norm() / wanted.norm()).item()
    verdict(name, error < limit, f"relative error {error:.2g}")


def report_integers(name, got, wanted, steps):
    """How many are how far off; `steps` where a rounding may go either way."""
    apart = (got.long() - wanted.long()).abs()
    verdict(name, apart.max().item() <= steps,
            f"{int((apart > 0).sum())} of {apart.numel()} differ, by {apart.max().item()} at most; "
            f"from {wanted.min().item()} to {wanted.max().item()}")


def random(*shape, dtype=torch.float16, scale=1.0):
    return (torch.randn(*shape, device="cuda") * scale).to(dtype)


def empty(*shape, dtype=torch.float16):
    return torch.full(shape, float("nan"), device="cuda", dtype=dtype)


def check_layer(library):
    x = random(2, 128, 1024)
    mask = torch.zeros(2, 1, 1, 128, device="cuda", dtype=torch.float16)
    mask[0, ..., 100:] = -65504
    sizes = (1024, 3072), (1024, 1024), (1024, 4096), (4096, 1024)
    w = [random(k, n, scale=k**-0.5) for k, n in sizes]
    b = [random(n, scale=0.5) for n in (3072, 1024, 4096, 1024)]
    qkv, o, h, f, y = (empty(2, 128, n) for n in (3072, 1024, 1024, 4096, 1024))

    def layer():
        run(library, "cutlass_main_0", x, w[0], b[0], qkv)
        run(library, "cutlass_main_1", qkv, mask, o)
        run(library, "cutlass_main_2", o, w[1], b[1], x, h)
        run(library, "cutlass_main_3", h, w[2], b[2], f)
        run(library, "cutlass_main_4", f, w[3], b[3], h, y)

    def reference(t):
        x_, m_ = t(x), t(mask)
        p = x_ @ t(w[0]) + t(b[0])
        q, k, v = (i.reshape(2, 128, 16, 64).transpose(1, 2) for i in p.split(1024, -1))
        s = torch.softmax(q @ k.transpose(2, 3) * 0.125 + m_, -1)
        h_ = (s @ v).transpose(1, 2).reshape(2, 128, 1024) @ t(w[1]) + t(b[1]) + x_
        return torch.nn.functional.gelu(h_ @ t(w[2]) + t(b[2])) @ t(w[3]) + t(b[3]) + h_

    layer()
    torch.cuda.synchronize()
    torch.backends.cuda.matmul.allow_tf32 = False
    wanted = reference(lambda t: t.float())
    report("encoder layer", y, wanted)
    report("(torch's own in float16)", reference(lambda t: t), wanted)
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(24):
            layer()
    y.fill_(float("nan"))
    times = []
    for _ in range(21):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1e3 / 24)
    report("encoder layer, 24 times in a graph", y, wanted)
    print(f"a layer of 2 x 128 without norms: {sorted(times)[10]:.2f} us")


def check_products(library):
    x, w, b, r = random(128, 64), random(64, 256), random(256), random(128, 256)
    bf = torch.bfloat16
    y, u, v = random(4, 32, 256, dtype=bf), random(4, 64, 256, dtype=bf), random(64, 256, dtype=bf)
    odd, t, s, c = random(31, 13), random(7, 13), random(31, 7), random(128, 1)
    long, many = random(64, 16384), random(16384, 256, scale=1 / 128)
    cases = [
        ("relu(x w + b + r)", (x, w, b, r), empty(128, 256),
         torch.relu(x.float() @ w.float() + b + r)),
        ("batch, bfloat16", (y, u), empty(4, 32, 64, dtype=bf),
         y.float() @ u.float().transpose(1, 2)),
        ("relu, bfloat16", (y, v), empty(4, 32, 64, dtype=bf), torch.relu(y.float() @ v.float().T)),
        ("odd rows", (odd, t, s), empty(31, 7), odd.float() @ t.float().T + s),
        ("x w / 4 + column", (x, w, c), empty(128, 256), x.float() @ w.float() / 4 + c),
        ("x^T r", (x, r), empty(64, 256), x.float().T @ r.float()),
        ("a long sum, shared", (long, many), empty(64, 256),
         torch.relu(long.float() @ many.float())),
    ]
    check_floats(library, [(*case, 1e-2 if case[2].dtype == bf else 1e-3) for case in cases])


def integers(dtype, *shape):
    low = torch.iinfo(dtype).min
    return torch.randint(low, low + 256, shape, device="cuda").to(dtype)


def check_integers(library):
    x, w = integers(torch.uint8, 300, 512), integers(torch.int8, 640, 512)
    y, u = integers(torch.int8, 4, 96, 256), integers(torch.int8, 4, 160, 256)
    odd, v = integers(torch.int8, 31, 252), integers(torch.uint8, 70, 252)
    l, m = integers(torch.int8, 4096, 1024), integers(torch.int8, 3072, 1024)
    z = w.int().sum(1, dtype=torch.int32) * 128
    s = torch.rand(640, device="cuda") * 2e-5 + 1e-5
    b = torch.randn(640, device="cuda")
    t, three = torch.full((), 0.05, device="cuda"), torch.full((), 3.0, device="cuda")
    sums = (x.double() @ w.double().T).long()  # exact
    floats = (sums - z).float() * s + b
    requantised = torch.clamp(torch.round(torch.relu(floats) / t) + 3, -128, 127)
    odd_sums = (odd.double() @ v.double().T).long()
    scaled = sums.float() * s
    many = (l.double() @ m.double().T).long()
    cases = [  # name, inputs, output, wanted, steps; floats have None
        ("int8, batches", (y, u), empty_integers(4, 96, 160, dtype=torch.int32),
         (y.double() @ u.double().transpose(1, 2)).long(), 0),
        ("uint8 x int8, requantised", (x, w, z, s, b, t, three),  # constants are arguments
         empty_integers(300, 640, dtype=torch.int8), requantised, 1),
        ("uint8 x int8, gelu, float16", (x, w, s, b), empty(300, 640),
         torch.nn.functional.gelu(scaled + b), None),
        ("uint8 x int8, float32", (x, w, s), empty(300, 640, dtype=torch.float32), scaled, None),
        ("int8 x uint8, odd rows", (odd, v), empty_integers(31, 70, dtype=torch.int32), odd_sums,
         0),
        ("int8 x uint8, odd rows, requantised", (odd, v, t * 1e-2),
         empty_integers(31, 70, dtype=torch.uint8),
         torch.clamp(torch.round(odd_sums.float() * (t * 1e-2)), 0, 255), 1),
        ("int8, many rows, requantised", (l, m, t * 1e-2),
         empty_integers(4096, 3072, dtype=torch.int8),
         torch.clamp(torch.round(many.float() * (t * 1e-2)), -127, 127), 1),
        ("int8, many rows", (m, l), empty_integers(3072, 4096, dtype=torch.int32), many.T, 0),
    ]
    for i, (name, inputs, output, wanted, steps) in enumerate(cases):
        run(library, f"cutlass_main_{i}", *inputs, output)
        torch.cuda.synchronize()
        if steps is None:
            report(name, output, wanted, 1e-6 if output.dtype == torch.float32 else 1e-3)
        else:
            report_integers(name, output, wanted, steps)


def float8(*shape, dtype=torch.float8_e4m3fn):
    """Codes of numbers of about one."""
    return torch.randn(*shape, device="cuda").to(dtype).view(torch.uint8)


def check_float8(library):
    e4, e5 = torch.float8_e4m3fn, torch.float8_e5m2
    number = lambda codes, dtype=e4: codes.view(dtype).float()
    x, w, y, v = float8(256, 512), float8(1024, 512), float8(2, 96, 256), float8(512, 256)
    odd, w5 = float8(77, 160), float8(72, 160, dtype=e5)
    l, m = float8(4096, 1024), float8(3072, 1024)
    s, u = torch.full((), 0.03, device="cuda"), torch.full((), 0.01, device="cuda")
    t, rows = torch.rand(1024, device="cuda") * 0.05, torch.rand(2, 96, 1, device="cuda")
    b, c, r = random(1024), random(512), random(2, 96, 512)
    gelu = torch.nn.functional.gelu(number(x) @ number(w).T * s * t + b)
    codes = empty_integers(256, 1024, dtype=torch.uint8)
    run(library, "cutlass_main_0", x, w, s, t, b, u, codes)
    torch.cuda.synchronize()
    report("float8, gelu, quantised", number(codes), number((gelu / u).clamp(-448, 448).to(e4)
                                                            .view(torch.uint8)), 1e-2)
    check_floats(library, [
        ("float8, scales of rows, residual", (y, v, rows, s, c, r), empty(2, 96, 512),
         number(y) @ number(v).T * rows * s + c + r, 2e-3),
        ("float8, both formats, odd rows", (odd, w5, s), empty(77, 72, dtype=torch.float32),
         number(odd) @ number(w5, e5).T * s * s, 2e-3),
        ("float8, many rows", (l, m, s), empty(4096, 3072),
         number(l) @ number(m).T * s * s, 2e-3),
    ], first=1)


def empty_integers(*shape, dtype):
    return torch.full(shape, 85, device="cuda", dtype=dtype)


def check_odd_rows(library):
    bf, f32 = torch.bfloat16, torch.float32
    x, w, b = random(96, 132), random(132, 260, scale=132**-0.5), random(260)
    y, u = random(3, 64, 70, dtype=bf), random(3, 50, 70, dtype=bf)
    f, g, h = random(64, 128, dtype=f32), random(128, 192, dtype=f32), random(192, 128, dtype=f32)
    r, p, q = random(64, 192, dtype=f32), random(64, 33, dtype=f32), random(65, 33, dtype=f32)
    cases = [
        ("float16, rows of 4", (x, w, b), empty(96, 260),
         torch.nn.functional.gelu(x.float() @ w.float() + b), 1e-3),
        ("bfloat16, rows of 2", (y, u), empty(3, 64, 50, dtype=bf),
         y.float() @ u.float().transpose(1, 2), 1e-2),
        ("3xtf32 along N", (f, g, r), empty(64, 192, dtype=f32), f.double() @ g.double() + r, 1e-5),
        ("3xtf32 along K", (f, h), empty(64, 192, dtype=f32), torch.relu(f.double() @ h.double().T),
         1e-5),
        ("3xtf32, rows of 1", (p, q), empty(64, 65, dtype=f32), p.double() @ q.double().T, 1e-5),
    ]
    check_floats(library, cases)


def check_tf32(library):
    f32 = torch.float32
    f, g, h = random(64, 128, dtype=f32), random(128, 192, dtype=f32), random(192, 128, dtype=f32)
    p, q = random(64, 33, dtype=f32), random(65, 33, dtype=f32)
    check_floats(library, [
        ("tf32 along K", (f, h), empty(64, 192, dtype=f32), torch.relu(f.double() @ h.double().T),
         1.5e-3),
        ("tf32 along N", (f, g), empty(64, 192, dtype=f32), f.double() @ g.double(), 1.5e-3),
        ("tf32, rows of 1", (p, q), empty(64, 65, dtype=f32), p.double() @ q.double().T, 1.5e-3),
    ])


def check_floats(library, cases, first=0):
    for i, (name, inputs, output, wanted, limit) in enumerate(cases, first):
        run(library, f"cutlass_main_{i}", *inputs, output)
        torch.cuda.synchronize()
        report(name, output, wanted, limit)


def microseconds(call):
    """Of a call that is repeated without a pause."""
    for _ in range(5):
        call()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(50):
        call()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) * 1e3 / 50


def convolve(x, w, padding=(0, 0, 0, 0), **attributes):
    """NHWC by OHWI, where they lie; padding above, left, below, right."""
    top, left, bottom, right = padding
    if (top, left) == (bottom, right):
        attributes["padding"] = (top, left)
        x = x.permute(0, 3, 1, 2)
    else:
        x = torch.nn.functional.pad(x.permute(0, 3, 1, 2), (left, right, top, bottom))
    y = torch.nn.functional.conv2d(x, w.permute(0, 3, 1, 2), **attributes)
    return y.permute(0, 2, 3, 1)


def plain(y):
    return y


def silu_times(y, r):
    return torch.nn.functional.silu(y) * r


def check_convolutions(library):
    half, bf, full = torch.float16, torch.bfloat16, torch.float32
    relu, one = torch.relu, (1, 1, 1, 1)
    cases = [  # image, kernel, type, what torch is told, with bias and another tensor, what follows
        ("3x3", (8, 28, 28, 64), (128, 3, 3), half, {"padding": one}, 1, relu),
        ("3x3 by two, one image", (1, 57, 56, 64), (64, 3, 3), half,
         {"padding": one, "stride": 2}, 1, plain),
        ("dilated", (2, 19, 19, 64), (64, 3, 3), bf, {"padding": (2,) * 4, "dilation": 2}, 0,
         plain),
        ("1x1, residual, relu", (8, 14, 14, 256), (64, 1, 1), half, {}, 2,
         lambda y, r: relu(y + r)),
        ("1x1 by two", (8, 28, 28, 256), (512, 1, 1), half, {"stride": 2}, 1, plain),
        ("5x3 padded unevenly, silu, factor", (3, 17, 13, 40), (72, 5, 3), half,
         {"padding": (0, 1, 2, 1)}, 2, silu_times),
        ("7x7 of three channels", (8, 224, 224, 3), (64, 7, 7), half,
         {"padding": (3,) * 4, "stride": 2}, 1, relu),
        ("odd channels, residual, relu", (2, 15, 15, 36), (52, 3, 3), half, {"padding": one}, 2,
         lambda y, r: relu(y + r)),
        ("float32", (2, 20, 20, 32), (64, 3, 3), full, {"padding": one}, 0, plain),
        ("eight channels, two strides", (2, 33, 31, 8), (24, 3, 3), bf,
         {"padding": (1, 0, 0, 1), "stride": (2, 1)}, 0, relu),
        ("3x3 of 32 images, residual, relu", (32, 56, 56, 64), (64, 3, 3), half, {"padding": one},
         2, lambda y, r: relu(y + r)),
        ("3x3 of 32 images, deep", (32, 14, 14, 256), (256, 3, 3), half, {"padding": one}, 1, relu),
    ]
    torch.backends.cudnn.allow_tf32 = False
    for i, (name, image, kernel, dtype, attributes, others, follow) in enumerate(cases):
        x = random(*image, dtype=dtype)
        w = random(*kernel, image[3], dtype=dtype, scale=(kernel[1] * kernel[2] * image[3])**-0.5)
        shape = convolve(x, w, **attributes).shape
        more = [random(*s, dtype=dtype) for s in ((kernel[0],), shape)[:others]]
        y = empty(*shape, dtype=dtype)

        def reference(t):
            result = convolve(t(x), t(w), **attributes)
            if others > 0:
                result = result + t(more[0])
            return follow(result, *map(t, more[1:]))

        call = lambda: run(library, f"cutlass_main_{i}", x, w, *more, y)
        call()
        torch.cuda.synchronize()
        limit = {half: 1e-3, bf: 1e-2, full: 2e-5}[dtype]
        report(name, y, reference(lambda t: t.float()), limit)
        torch_us = microseconds(lambda: reference(lambda t: t))
        print(f"    {microseconds(call):.1f} us with its call from Python; torch's, in the same "
              f"type and channels last: {torch_us:.1f} us", flush=True)


def check_integer_convolutions(library):
    s8, u8, one = torch.int8, torch.uint8, (1, 1, 1, 1)

    def scale(n=None):  # sums have a deviation of some hundred thousands
        return torch.rand(() if n is None else n, device="cuda") * 2e-4 + 1e-4

    def offsets(n):
        return torch.randint(-99999, 99999, (n,), device="cuda").int()

    def narrow(dtype, low, high):
        return lambda y: torch.clamp(torch.round(y), low, high).to(dtype)

    def requantised(y, z, b, s, three):
        return torch.clamp(torch.round((y - z + b).float() * s) + three, 0, 255).to(u8)

    def scaled(follow):
        return lambda y, s, *more: follow(y.float() * s, *more)

    def with_int8(y, z, s, b, r, half, two):
        total = torch.relu((y - z).float() * s + b + r.float() * half)
        return torch.clamp(torch.round(total / two), 0, 127).to(s8)

    def with_uint8(y, s, r, zero, half):
        return narrow(s8, -127, 127)((r.float() - zero) * half + y.float() * s)

    three, half, two, zero = (torch.full((), x, device="cuda") for x in (3.0, 0.5, 2.0, 128.0))
    floats = torch.randn(2, 19, 19, 64, device="cuda")
    cases = [  # image, kernel, types, what torch is told, more inputs, what follows
        ("3x3, zero point, bias, scales, uint8", (8, 30, 30, 64), (128, 3, 3), (u8, s8), {},
         (offsets(128), offsets(128), scale(128), three), requantised),
        ("3x3, int32", (2, 28, 28, 128), (64, 3, 3), (s8, s8), {"padding": one}, (), plain),
        ("3x3 by two, relu, int8", (1, 57, 56, 64), (96, 3, 3), (s8, s8),
         {"padding": one, "stride": 2}, (scale(),), scaled(narrow(s8, 0, 127))),
        ("dilated, residual, relu, float16", (2, 19, 19, 256), (64, 3, 3), (s8, u8),
         {"padding": (2,) * 4, "dilation": 2}, (scale(64), floats),
         scaled(lambda y, r: torch.relu(y + r).half())),
        ("5x3 padded unevenly, 40 channels", (3, 17, 13, 40), (70, 5, 3), (s8, u8),
         {"padding": (0, 1, 2, 1)}, (), plain),
        ("7x7 of four channels, uint8", (8, 224, 224, 4), (64, 7, 7), (u8, s8),
         {"padding": (3,) * 4, "stride": 2}, (scale(64),), scaled(narrow(u8, 0, 255))),
        ("24 channels, 25 results, int8", (2, 33, 31, 24), (25, 3, 3), (s8, s8),
         {"padding": (1, 0, 0, 1), "stride": (2, 1)}, (scale(),), scaled(narrow(s8, -128, 127))),
        ("1x1, bias", (8, 14, 14, 256), (64, 1, 1), (u8, s8), {}, (offsets(64),),
         lambda y, b: y + b),
        ("1x1 by two", (8, 28, 28, 256), (512, 1, 1), (u8, s8), {"stride": 2}, (), plain),
        ("3x3 of 32 images", (32, 56, 56, 64), (64, 3, 3), (s8, s8), {"padding": one}, (scale(),),
         scaled(narrow(s8, 0, 127))),
        ("3x3 of 32 images, deep", (32, 14, 14, 256), (256, 3, 3), (s8, s8), {"padding": one},
         (scale(),), scaled(narrow(s8, 0, 127))),
        ("3x3, residual of int8", (4, 28, 28, 128), (128, 3, 3), (u8, s8), {"padding": one},
         (offsets(128), scale(128), torch.randn(128, device="cuda"),
          integers(s8, 4, 28, 28, 128), half, two), with_int8),
        ("36 channels, residual of uint8", (2, 15, 15, 36), (52, 3, 3), (s8, s8),
         {"padding": one}, (scale(), integers(u8, 2, 15, 15, 52), zero, half), with_uint8),
    ]
    for i, (name, image, kernel, (a, b), attributes, more, follow) in enumerate(cases):
        x, w = integers(a, *image), integers(b, *kernel, image[3])
        sums = convolve(x.double(), w.double(), **attributes).round().long()  # exact
        wanted = follow(sums, *more)
        y = torch.full(wanted.shape, 85, device="cuda",
                       dtype=torch.int32 if wanted.dtype == torch.int64 else wanted.dtype)
        call = lambda: run(library, f"cutlass_main_{i}", x, w, *more, y)
        call()
        torch.cuda.synchronize()
        if y.dtype == torch.float16:
            report(name, y, wanted.float(), 1e-6)
        else:
            report_integers(name, y, wanted, 0)
        us = microseconds(call)
        terms = kernel[1] * kernel[2] * image[3]
        print(f"    {us:.1f} us with its call from Python, {2e-6 * y.numel() * terms / us:.0f} "
              "Tera-operations a second", flush=True)


CHECKS = {"encoder_layer": check_layer, "products": check_products, "integers": check_integers,
          "float8": check_float8, "odd_rows": check_odd_rows, "tf32": check_tf32,
          "convolutions": check_convolutions,
          "integer_convolutions": check_integer_convolutions}
for stem, check in CHECKS.items():
    path = Path(sys.argv[1]).resolve() / f"{stem}.so"
    if path.exists():
        check(ctypes.CDLL(str(path)))
    else:
        print(f"no {path}")
sys.exit(1 if WRONG else 0)
