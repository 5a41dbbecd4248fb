#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Products of few rows with weights of 4, 8 and 16 bits on one GPU, beside reading the same bytes.

    few_bits.py --prepare FOLDER [--tessera COMMAND]    needs nvcc and no GPU
    few_bits.py --run FOLDER [--out RESULT.md] [--rounds 30]    needs a GPU and torch

A library has 32 products of one input with 32 matrices, which are inputs, too, so that libraries
are small; on the device each has memory of its own, so that nothing is found in a cache. A library
replays its launches as a graph, and so do 32 kernels that read the stored bytes (read_only.cu, of
several sizes of launch the fastest). Both are timed in turns, by events; the table has medians, and
the share of the reader's speed. Before, results of the first and the last product are compared with
torch's of the same numbers in float64, and two runs with each other: a line that begins with WRONG
is a finding, and the exit status is 1.
"""
import argparse
import ctypes
import statistics
import subprocess
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "tests" / "abi")]

LAYERS, BLOCK = 32, 128
SHAPES = ((14336, 4096), (4096, 14336))  # columns, terms
KINDS = {"int4": 4, "int8": 8, "float16": 16}
ROWS = (1, 16)
TO_REACH = {"int4": 70, "int8": 80, "float16": 88}  # percent of the reader's speed, with one row
MOST_ERROR = 2e-3  # of the largest: results are rounded to float16


def cases():
    for columns, terms in SHAPES:
        for rows in ROWS:
            for kind in KINDS:
                yield columns, terms, rows, kind


def name_of(columns, terms, rows, kind):
    return f"{kind}-{columns}x{terms}-{rows}"


def shapes_of(columns, terms, kind):
    """Of the words and the scales, or of the matrix."""
    bits = KINDS[kind]
    if bits == 16:
        return (columns, terms), None
    step = 256 // bits
    return (columns // 16, -(-terms // step), 128), (columns // 16, -(-terms // BLOCK), 16)


def model_text(columns, terms, rows, kind):
    words, scales = shapes_of(columns, terms, kind)
    bits = KINDS[kind]
    parameters = [f"%x: Tensor[({rows}, {terms}), float16]"]
    calls = []
    for i in range(LAYERS):
        if scales is None:
            parameters.append(f"%w{i}: Tensor[{words}, float16]")
            calls.append(f"%{i} = nn.dense(%x, %w{i}, units={columns})")
        else:
            parameters += [f"%w{i}: Tensor[{words}, int32]", f"%s{i}: Tensor[{scales}, float16]"]
            calls.append(f"%{i} = qnn.dense_fragments(%x, %w{i}, %s{i}, {2 ** (bits - 1)}f, "
                         f"units={columns}, block_size={BLOCK}, bits={bits}, terms={terms})")
    results = ", ".join(f"%{i}" for i in range(LAYERS))
    return ('#[version = "0.0.5"]\n'
            f"def @main({', '.join(parameters)}) {{\n  " + ";\n  ".join(calls) +
            f";\n  ({results})\n}}\n")


def prepare(folder, command):
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["nvcc", "-O3", "-arch=sm_90", "-shared", "-Xcompiler", "-fPIC", "-cudart",
                    "static", HERE / "read_only.cu", "-o", folder / "read_only.so"], check=True)
    for case in cases():
        source = folder / f"{name_of(*case)}.relay"
        source.write_text(model_text(*case))
        subprocess.run([command, "compile", source, "-o", source.with_suffix(".so"), "--target",
                        "cuda"], check=True, stdout=subprocess.DEVNULL)
        print(f"{source.stem} is compiled", flush=True)


# ---- On the device

def places(bits):
    """Of a tile's integers [terms of a step, 16 columns]: their words and shifts. A thread of a
    warp has four words of a step: eight neighbouring terms of two columns, then of the next 32; a
    term and the next one lie 16 bits apart."""
    step, each = 256 // bits, 32 // bits
    k, column = np.meshgrid(np.arange(step), np.arange(16), indexing="ij")
    thread = column % 8 * 4 + k % 32 // 8
    place = (k // 32 * 2 + column // 8) * 8 + k % 8
    shift = (place % 2 * (each // 2) + place % each // 2) * bits
    return thread * 4 + place // each, shift


def matrix_of(words, scales, bits, torch):
    """[columns, terms] in float64."""
    word, shift = (torch.from_numpy(v).cuda() for v in places(bits))
    q = (words[:, :, word.flatten()].reshape(*words.shape[:2], *word.shape) >> shift)
    q = (q & (2 ** bits - 1)).double() - 2 ** (bits - 1)  # [tiles, steps, terms of a step, 16]
    q = q.permute(0, 3, 1, 2).reshape(words.shape[0] * 16, -1)
    scale = scales.double().permute(0, 2, 1).reshape(q.shape[0], -1)
    return q * scale.repeat_interleave(BLOCK, 1)[:, :q.shape[1]]


class Reader:
    """Reads all tensors, one launch each, in a graph."""

    def __init__(self, library, tensors, blocks, stream, torch):
        out = torch.zeros(1, dtype=torch.int32, device="cuda")
        self.kept, self.graph = (tensors, out), torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, stream=stream):
            now = torch.cuda.current_stream().cuda_stream
            for t in tensors:
                status = library.read_only(
                    ctypes.c_void_p(t.data_ptr()), ctypes.c_int64(t.nbytes),
                    ctypes.c_void_p(out.data_ptr()), blocks, ctypes.c_void_p(now))
                if status:
                    raise RuntimeError(f"the reader could not be launched: {status}")

    def __call__(self):
        self.graph.replay()


def timed(call, stream, torch):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record(stream)
    call()
    end.record(stream)
    end.synchronize()
    return begin.elapsed_time(end) * 1e3 / LAYERS  # us of a product


def tensors_of(case, torch):
    columns, terms, rows, kind = case
    words, scales = shapes_of(columns, terms, kind)
    torch.manual_seed(1)
    feeds = {"x": torch.randn(rows, terms, device="cuda").half()}
    for i in range(LAYERS):
        if scales is None:
            feeds[f"w{i}"] = (torch.randn(words, device="cuda") / terms ** 0.5).half()
        else:
            feeds[f"w{i}"] = torch.randint(-2 ** 31, 2 ** 31, words, device="cuda",
                                           dtype=torch.int64).to(torch.int32)
            size = terms ** 0.5 * 2 ** (KINDS[kind] - 1)
            feeds[f"s{i}"] = ((torch.rand(scales, device="cuda") + 0.5) / size).half()
    return feeds


def check(case, feeds, results, again, torch):
    """What is wrong, and the error over the largest result."""
    kind, worst = case[3], 0.0
    for i in (0, LAYERS - 1):
        matrix = (feeds[f"w{i}"].double() if KINDS[kind] == 16 else
                  matrix_of(feeds[f"w{i}"], feeds[f"s{i}"], KINDS[kind], torch))
        wanted = feeds["x"].double() @ matrix.T
        error = (results[i].double() - wanted).abs().max() / wanted.abs().max()
        worst = max(worst, float(error)) if error == error else float("inf")
    same = all(torch.equal(a, b) for a, b in zip(results, again))
    wrong = ("two runs differ" if not same else
             f"an error of {worst:.1e}" if worst > MOST_ERROR else "")
    return wrong, worst


def measure(case, folder, reader, rounds, torch):
    import ctypes_model as tessera
    columns, terms, rows, _ = case
    feeds = tensors_of(case, torch)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        with tessera.Model(folder / f"{name_of(*case)}.so") as model:
            results = {io.name.decode(): torch.empty(rows, columns, device="cuda",
                                                     dtype=torch.half)
                       for io in model.outputs}
            call = model.bind_on_stream(feeds, results, stream.cuda_stream)
            call()
            stream.synchronize()
            first = [t.clone() for t in results.values()]
            for _ in range(3):
                call()
            stream.synchronize()
            wrong, error = check(case, feeds, list(results.values()), first, torch)
            stored = [t for name, t in feeds.items() if name != "x"]
            sms = torch.cuda.get_device_properties(0).multi_processor_count
            readers = [Reader(reader, stored, sms * each, stream, torch) for each in (4, 8, 16)]
            ours, reads = [], [[] for _ in readers]
            for _ in range(rounds):
                ours.append(timed(call, stream, torch))
                for read, times in zip(readers, reads):
                    times.append(timed(read, stream, torch))
    us, read_us = statistics.median(ours), min(statistics.median(t) for t in reads)
    size = sum(t.nbytes for t in stored) / LAYERS
    return {"case": case, "us": us, "read_us": read_us, "share": 100 * read_us / us,
            "read_gb": size / read_us / 1e3, "wrong": wrong, "error": error}


def run(folder, rounds, out):
    import torch
    reader = ctypes.CDLL(str(folder / "read_only.so"))
    lines = [f"{torch.cuda.get_device_name(0)}; {LAYERS} distinct layers in one replayed graph; "
             f"groups of {BLOCK}.", "",
             "| columns x terms | rows | weights | us a product | reading takes | share of "
             "the reader's speed | to reach | reader, GB/s | over float16 | error |",
             "|---|---|---|---|---|---|---|---|---|---|"]
    rows, good = [], True
    for case in cases():
        r = measure(case, folder, reader, rounds, torch)
        rows.append(r)
        good &= not r["wrong"]
        print(f"{'WRONG' if r['wrong'] else 'ok'} {name_of(*case)}: {r['us']:.2f} us, "
              f"{r['share']:.0f} % {r['wrong']}", flush=True)
        torch.cuda.empty_cache()
    for r in rows:
        columns, terms, count, kind = r["case"]
        half = [o["us"] for o in rows if o["case"] == (columns, terms, count, "float16")]
        faster = f"{half[0] / r['us']:.2f}" if half else ""
        goal = f"{TO_REACH[kind]} %" if count == 1 else "2.2 x" if kind == "int4" else ""
        lines.append(f"| {columns} x {terms} | {count} | {kind} | {r['us']:.2f} | "
                     f"{r['read_us']:.2f} | {r['share']:.0f} % | {goal} | {r['read_gb']:.0f} | "
                     f"{faster} | {r['error']:.1e} |")
    text = "\n".join(lines) + "\n"
    print(text)
    if out:
        out.write_text(text)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prepare", type=Path)
    parser.add_argument("--run", type=Path)
    parser.add_argument("--tessera", default=str(HERE.parents[1] / "build/release/bin/tessera"))
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    if args.prepare:
        prepare(args.prepare, args.tessera)
    sys.exit(0 if not args.run or run(args.run, args.rounds, args.out) else 1)


if __name__ == "__main__":
    main()
