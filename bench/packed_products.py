#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Products with block-quantised weights beside onnxruntime's MatMulNBits, in turns.

    bench/packed_products.py [--tessera build/release/bin/tessera] [--rows 1,4,16] [--bits 4,8]
                             [--block 32] [--width 4096] [--middle 11008] [--layers 4]
                             [--threads 2] [--rounds 15] [--open] [--zero-points]
                             [--ggml FOLDER] [--out FILE.md]

A model is a chain of `--layers` products, [width, middle] and [middle, width] by turns, each with a
weight of its own, so that nothing is found in a cache. Each round runs tessera, onnxruntime with
accuracy levels 0 (float32) and 4 (operands may be rounded to 8 bits), and a loop of numpy that
reads as many bytes in as many threads; the table has medians, of the time of the thread with
`--threads 1`, so that other programs disturb little. With `--open` the number of rows is open in
the model. Results are compared with numpy in float64: exit status 1 if one is off by more
than 1e-4 of the largest, or if two runs differ.

With `--ggml` llama.cpp's kernels (ggml_chain.py says how to have them) take turns, too, in each
order of weights that they have for this machine. They have blocks of 32 without zero points alone.
They round operands to 8 bits, as accuracy level 4 does, and may be off by 5e-2.
"""
import argparse
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "tests" / "abi")]

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import ctypes_model as tessera  # noqa: E402
import ggml_chain  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from turns import milliseconds, onnxruntime_session  # noqa: E402

TOLERANCE, TOLERANCE_OF_ROUNDED = 1e-4, 5e-2


def weight(random, k, n, args):
    """Packed bytes, scales, zero points or none, and the matrix [n, k] that they stand for."""
    blocks, each = -(-k // args.block), 8 // args.bits
    packed = random.integers(0, 256, (n, blocks, args.block // each), dtype=np.uint8)
    scale = (random.uniform(0.5, 1.5, (n, blocks)) / 2 ** (args.bits - 1) / k ** 0.5)
    # As float16 and bfloat16 both have it.
    scale = (scale.astype(np.float32).view(np.uint32) & 0xffff0000).view(np.float32)
    q = np.stack([packed >> (i * args.bits) & (2 ** args.bits - 1) for i in range(each)], -1)
    q = q.reshape(n, blocks, -1).astype(np.float32)
    middle = np.full((n, blocks, 1), 2 ** (args.bits - 1), np.float32)
    zero = None
    if args.zero_points:
        zero = random.integers(0, 256, (n, -(-blocks // each)), dtype=np.uint8)
        parts = [zero >> (i * args.bits) & (2 ** args.bits - 1) for i in range(each)]
        middle = np.stack(parts, -1).reshape(n, -1)[:, :blocks, None].astype(np.float32)
    return packed, scale, zero, ((q - middle) * scale[:, :, None]).reshape(n, -1)[:, :k]


def chain(args, level):
    """The model, and the function that it stands for."""
    random = np.random.default_rng(7)
    nodes, constants, matrices, name = [], [], [], "x"
    sizes = [args.width, args.middle]
    for i in range(args.layers):
        k, n = sizes[i % 2], sizes[(i + 1) % 2]
        packed, scale, zero, matrix = weight(random, k, n, args)
        named = {f"w{i}": packed, f"s{i}": scale} | ({} if zero is None else {f"z{i}": zero})
        constants += [numpy_helper.from_array(v, key) for key, v in named.items()]
        nodes.append(helper.make_node("MatMulNBits", [name, *named], [f"y{i}"], K=k, N=n,
                                      block_size=args.block, bits=args.bits, accuracy_level=level,
                                      domain="com.microsoft"))
        matrices.append(matrix)
        name = f"y{i}"
    rows = "rows" if args.open else args.row
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, args.width])
    y = helper.make_tensor_value_info(name, TensorProto.FLOAT, [rows, sizes[args.layers % 2]])
    model = helper.make_model(
        helper.make_graph(nodes, "chain", [x], [y], constants), ir_version=9,
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)])
    return model, matrices


def reference(x, matrices):
    y = x.astype(np.float64)
    for matrix in matrices:
        y = y @ matrix.T.astype(np.float64)
    return y


def reader(size, threads):
    """A function that reads so many bytes once."""
    parts = np.array_split(np.ones(size // 8, np.uint64), threads)
    if threads == 1:
        return lambda: np.bitwise_or.reduce(parts[0])
    pool = ThreadPoolExecutor(threads)
    return lambda: list(pool.map(np.bitwise_or.reduce, parts))


def session(model, threads, folder):
    path = folder / "onnxruntime.onnx"
    onnx.save(model, path)
    return onnxruntime_session(path, threads)


def ggml_chains(args, model):
    """By the kind of memory that weights are in."""
    if not args.ggml:
        return {}
    library = ggml_chain.Ggml(args.ggml)
    constants = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    weights = [(constants[f"w{i}"], constants[f"s{i}"]) for i in range(args.layers)]
    return {kind: ggml_chain.Chain(library, weights, args.bits, args.row, args.width, args.threads,
                                   kind) for kind in ggml_chain.kinds_here(library, args.bits)}


def measure(args, folder):
    """A row of the table, and what is wrong."""
    model, matrices = chain(args, 0)
    source, library = folder / "chain.onnx", folder / "chain.so"
    onnx.save(model, source)
    subprocess.run([args.tessera, "compile", source, "-o", library], check=True,
                   stdout=subprocess.DEVNULL)
    stored = sum(len(t.raw_data) for t in model.graph.initializer)
    x = np.random.default_rng(1).standard_normal((args.row, args.width)).astype(np.float32)
    exact, rounded = (session(m, args.threads, folder) for m in (model, chain(args, 4)[0]))
    chains = ggml_chains(args, model)
    with tessera.Model(library, threads=args.threads) as compiled:
        first, second = (list(compiled.run({"x": x}).values())[0].copy() for _ in range(2))
        ms = milliseconds({"tessera": lambda: compiled.run({"x": x}),
                           "exact": lambda: exact.run(None, {"x": x}),
                           "rounded": lambda: rounded.run(None, {"x": x}),
                           **{kind: lambda c=c: c.run(x) for kind, c in chains.items()},
                           "read": reader(stored, args.threads)}, args.rounds,
                          time.thread_time if args.threads == 1 else time.perf_counter)
    wanted = reference(x, matrices)
    off_by = lambda y: np.abs(y - wanted).max() / np.abs(wanted).max()
    off = off_by(first)
    for kind, of_kind in chains.items():
        print(f"ggml, {kind}: {ms[kind]:.2f} ms, {ms[kind] / ms['tessera']:.2f} of tessera's time, "
              f"off {off_by(of_kind.result()):.1e}")
        if off_by(of_kind.result()) > TOLERANCE_OF_ROUNDED:
            return "", f"ggml's numbers are off in {kind}"
    row = (f"| {args.bits} | {args.row}{', open' if args.open else ''} | {ms['tessera']:.2f} | "
           f"{ms['exact']:.2f} | {ms['rounded']:.2f} | {ms['exact'] / ms['tessera']:.2f} | "
           f"{ms['read']:.2f} | {100 * ms['read'] / ms['tessera']:.0f} % | "
           f"{library.stat().st_size / stored:.2f} | {off:.1e} |")
    wrong = "" if off <= TOLERANCE else "numbers are off"
    return row, wrong or ("" if np.array_equal(first, second) else "two runs differ")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tessera", default=str(HERE.parent / "build/release/bin/tessera"))
    parser.add_argument("--rows", default="1,4,16")
    parser.add_argument("--bits", default="4,8")
    parser.add_argument("--block", type=int, default=32)
    parser.add_argument("--width", type=int, default=4096)
    parser.add_argument("--middle", type=int, default=11008)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--open", action="store_true")
    parser.add_argument("--zero-points", action="store_true")
    parser.add_argument("--ggml", type=Path, help="folder of libggml-base.so and libggml-cpu.so")
    parser.add_argument("--out")
    args = parser.parse_args()
    if args.ggml and (args.block != ggml_chain.BLOCK or args.zero_points or args.open):
        parser.error(f"ggml has blocks of {ggml_chain.BLOCK} without zero points, of known rows")
    lines = ["| bits | rows | tessera, ms | onnxruntime, level 0 | level 4 | of level 0's speed | "
             "bytes read once, ms | of that speed | library / weights | off |",
             "|---|---|---|---|---|---|---|---|---|---|"]
    failed = []
    for args.bits in map(int, args.bits.split(",")):
        for args.row in map(int, args.rows.split(",")):
            with tempfile.TemporaryDirectory() as folder:
                row, wrong = measure(args, Path(folder))
            lines.append(row)
            print(row, wrong, flush=True)
            failed += [row] if wrong else []
    text = "\n".join(lines) + "\n"
    print(text)
    if args.out:
        Path(args.out).write_text(text)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
