#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How near the native CUDA kernels come to the device's copy bandwidth.

    bench/cuda_bandwidth.py --tessera build/release/bin/tessera [--rows 12288] [--columns 1024]
                            [--copies 32] [--seconds 2] [--cases gelu,softmax] [--out FILE.md]

Each case is a model of `--copies` independent calls of one kernel on tensors of their own, so that
nothing is found in a cache, compiled and measured by `tessera bench`: device time through CUDA
events around one replayed graph, divided by the number of calls. The bandwidth to reach is that of
torch's device-to-device copies of the same tensors, in a graph as well. What the launch of a graph
takes on an idle stream, some 4 us, is shared by so many calls that a kernel is charged 0.1 us.
Needs a GPU, nvcc and torch; prints a table and writes it to `--out`.
"""
import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import torch

# The body for tensors x (and r), vectors b and c; reads and writes in units of the whole tensor.
CASES = {
    "relu": ("nn.relu(%x)", 2),
    "bias_gelu": ("%0 = add(%x, %b);\n  nn.gelu(%0)", 2),
    "bias_residual": ("%0 = add(%x, %b);\n  add(%0, %r)", 3),
    "softmax": ("nn.softmax(%x)", 2),
    "layer_norm": ("nn.layer_norm(%x, %b, %c)", 2),
    "bias_residual_layer_norm":
        ("%0 = add(%x, %b);\n  %1 = add(%0, %r);\n  nn.layer_norm(%1, %b, %c)", 3),
    "layer_norm_factors": ("%0 = nn.layer_norm_factors(%x);\n  %0.1", 1),
    "rms_norm": ("nn.rms_norm(%x, %b)", 2),
    "bias_residual_rms_norm":
        ("%0 = add(%x, %b);\n  %1 = add(%0, %r);\n  nn.rms_norm(%1, %c)", 3),
    "transpose": ("transpose(%x, axes=[1, 0])", 2),
    "row_sum": ("sum(%x, axis=[-1])", 1),
}


def model_text(body, rows, columns, copies):
    """`copies` calls of the case in one function."""
    vector = f"Tensor[({columns}), float16]"
    matrix = f"Tensor[({rows}, {columns}), float16]"
    params = [f"%b: {vector}", f"%c: {vector}"]
    lines, results, number = [], [], 0
    for i in range(copies):
        params += [f"%x{i}: {matrix}"] + ([f"%r{i}: {matrix}"] if "%r" in body else [])
        text = body.replace("%x", f"%x{i}").replace("%r", f"%r{i}")
        steps = text.split(";\n")
        steps[-1] = f"%{len(steps) - 1} = " + steps[-1].strip()
        for k in reversed(range(len(steps))):
            steps = [s.replace(f"%{k} ", f"%v{number + k} ").replace(f"%{k},", f"%v{number + k},")
                     .replace(f"%{k})", f"%v{number + k})")
                     .replace(f"%{k}.", f"%v{number + k}.") for s in steps]
        number += len(steps)
        lines += [s.strip() for s in steps]
        results.append(f"%v{number - 1}")
    body_text = ";\n  ".join(line.replace("%v", "%") for line in lines)
    outputs = ", ".join(r.replace("%v", "%") for r in results)
    return ('#[version = "0.0.5"]\n'
            f"def @main({', '.join(params)}) {{\n  {body_text};\n  ({outputs})\n}}\n")


def copy_bandwidth(rows, columns, copies):
    """GB/s of device-to-device copies, read and written bytes together."""
    pairs = [(torch.randn(rows, columns, device="cuda", dtype=torch.float16),
              torch.empty(rows, columns, device="cuda", dtype=torch.float16))
             for _ in range(copies)]
    graph = torch.cuda.CUDAGraph()
    for x, y in pairs:
        y.copy_(x)
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        for x, y in pairs:
            y.copy_(x)
    times = []
    for _ in range(200):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    times.sort()
    ms = times[len(times) // 2]
    return 2 * copies * rows * columns * 2 / ms / 1e6


def measure(args, name, folder):
    body, tensors = CASES[name]
    model, library = folder / f"{name}.relay", folder / f"{name}.so"
    model.write_text(model_text(body, args.rows, args.columns, args.copies))
    subprocess.run([args.tessera, "compile", model, "--target", "cuda", "-o", library], check=True,
                   stdout=subprocess.DEVNULL)
    out = subprocess.run([args.tessera, "bench", library, "--json", "--seconds", str(args.seconds)],
                         check=True, capture_output=True, text=True).stdout
    us = json.loads(out)["device_median_us"] / args.copies
    return us, tensors * args.rows * args.columns * 2 / us / 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tessera", required=True)
    parser.add_argument("--rows", type=int, default=12288)
    parser.add_argument("--columns", type=int, default=1024)
    parser.add_argument("--copies", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--out")
    args = parser.parse_args()
    copy = copy_bandwidth(args.rows, args.columns, args.copies)
    lines = [f"Copy of {args.rows}x{args.columns} float16: {copy:.0f} GB/s.", "",
             "| kernel | us | GB/s | of copy |", "|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        for name in args.cases.split(","):
            try:
                us, rate = measure(args, name, Path(folder))
                lines.append(f"| {name} | {us:.2f} | {rate:.0f} | {100 * rate / copy:.0f} % |")
            except subprocess.CalledProcessError as problem:
                lines.append(f"| {name} | failed: {problem.cmd[1]} | | |")
            print(lines[-1], flush=True)
    text = "\n".join(lines) + "\n"
    print(text)
    if args.out:
        Path(args.out).write_text(text)


if __name__ == "__main__":
    main()
