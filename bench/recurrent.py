#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers beside onnxruntime's, in turns.

    bench/recurrent.py [--tessera build/release/bin/tessera] [--kinds LSTM,GRU] [--steps 300]
                       [--batches 1,8] [--hidden 64,128,256,512] [--threads 1,2] [--rounds 31]
                       [--bidirectional] [--open] [--backends LIST] [--out FILE.md]

A model is one layer, whose input is as wide as its state. Each round runs tessera and onnxruntime;
the table has medians of the time of the thread with one thread, and with more the least wall-clock
times, so that other programs disturb little. With `--open` steps and batch are open in the model.
Results are compared with numpy in float64 (LSTM) or with onnxruntime's: exit status
1 if one is off by more than 1e-4 of the largest, or if two runs differ.
"""
import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "tests" / "abi")]

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import ctypes_model as tessera  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from turns import milliseconds, onnxruntime_session  # noqa: E402

TOLERANCE = 1e-4
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def layer(kind, args):
    """The model and its weights: W, R and B as ONNX has them."""
    random = np.random.default_rng(7)
    directions, gates, size = 1 + args.bidirectional, GATES[kind], args.size
    shapes = {"w": (directions, gates * size, size), "r": (directions, gates * size, size),
              "b": (directions, 2 * gates * size)}
    weights = {n: (random.uniform(-1, 1, s) / size ** 0.5).astype(np.float32)
               for n, s in shapes.items()}
    node = helper.make_node(kind, ["x", *weights], ["y"], hidden_size=size,
                            direction="bidirectional" if args.bidirectional else "forward")
    sizes = ["steps", "batch", size] if args.open else [args.steps, args.batch, size]
    model = helper.make_model(
        helper.make_graph([node], "layer",
                          [helper.make_tensor_value_info("x", TensorProto.FLOAT, sizes)],
                          [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                          [numpy_helper.from_array(v, n) for n, v in weights.items()]),
        ir_version=9, opset_imports=[helper.make_opsetid("", 17)])
    return model, weights


def lstm(x, weights):
    w, r, b = (weights[n][0].astype(np.float64) for n in "wrb")
    h = c = np.zeros((x.shape[1], r.shape[1]))
    bias, states = b[:len(b) // 2] + b[len(b) // 2:], []
    for step in x.astype(np.float64):
        i, o, f, g = np.split(step @ w.T + h @ r.T + bias, 4, axis=1)
        i, o, f = (1 / (1 + np.exp(-gate)) for gate in (i, o, f))
        c = f * c + i * np.tanh(g)
        h = o * np.tanh(c)
        states.append(h[None])
    return np.stack(states)


def measure(kind, args, folder):
    """Rows of the table, one for each number of threads, and what is wrong."""
    model, weights = layer(kind, args)
    source, library = folder / "layer.onnx", folder / "layer.so"
    onnx.save(model, source)
    command = [args.tessera, "compile", source, "-o", library]
    begin = time.perf_counter()
    subprocess.run(command + (["--backends", args.backends] if args.backends else []), check=True,
                   stdout=subprocess.DEVNULL)
    compiled_s = time.perf_counter() - begin
    x = np.random.default_rng(1).standard_normal((args.steps, args.batch, args.size))
    x = x.astype(np.float32)
    for threads in map(int, args.threads.split(",")):
        peer = onnxruntime_session(source, threads)
        clock, choose = ((time.thread_time, statistics.median) if threads == 1
                         else (time.perf_counter, min))
        with tessera.Model(library, threads=threads) as compiled:
            call = compiled.bind({"x": x})
            found = []
            for _ in range(2):
                call()
                found.append(call.fetch()["y"].copy())
            ms = milliseconds({"tessera": call, "peer": lambda: peer.run(None, {"x": x})},
                              args.rounds, clock, choose)
        wanted = (lstm(x, weights) if kind == "LSTM" and not args.bidirectional
                  else peer.run(None, {"x": x})[0])
        off = np.abs(found[0] - wanted).max() / np.abs(wanted).max()
        wrong = "" if off <= TOLERANCE else "numbers are off"
        yield (f"| {kind} | {args.batch} | {args.size} | {threads} | {ms['tessera']:.2f} | "
               f"{ms['peer']:.2f} | {ms['tessera'] / ms['peer']:.2f} | {off:.1e} | "
               f"{compiled_s:.1f} |",
               wrong or ("" if np.array_equal(*found) else "two runs differ"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tessera", default=str(HERE.parent / "build/release/bin/tessera"))
    parser.add_argument("--kinds", default="LSTM")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batches", default="1,8")
    parser.add_argument("--hidden", default="64,128,256,512")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--bidirectional", action="store_true")
    parser.add_argument("--open", action="store_true")
    parser.add_argument("--backends", default="")
    parser.add_argument("--out")
    args = parser.parse_args()
    lines = ["| kind | batch | hidden | threads | tessera, ms | onnxruntime, ms | ratio | off | "
             "compiled, s |", "|---|---|---|---|---|---|---|---|---|"]
    failed = False
    for kind in args.kinds.split(","):
        for args.batch in map(int, args.batches.split(",")):
            for args.size in map(int, args.hidden.split(",")):
                with tempfile.TemporaryDirectory() as folder:
                    for row, wrong in measure(kind, args, Path(folder)):
                        lines.append(row)
                        print(row, wrong, flush=True)
                        failed = failed or bool(wrong)
    if args.out:
        Path(args.out).write_text("\n".join(lines) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
