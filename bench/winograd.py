#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Convolutions of 3 by 3 on the CPU: Winograd's algorithm against direct native code and oneDNN.

    bench/winograd.py --tessera build/release/bin/tessera [--threads 1] [--rounds 15]
                      [--layers vgg,resnet] [--out FILE.md]

Layers of VGG-16, ResNet-50 and a U-Net, each a model of a convolution with bias and ReLU, are
compiled in each way and run in turns; the table has medians, of the time of the thread with
`--threads 1`, so that other programs disturb little. The error of a way is the largest difference
from numpy in float64, relative to the largest result. Needs onnx and numpy.
"""
import argparse
import contextlib
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "tests" / "abi")]

import ctypes_model as tessera  # noqa: E402
import numpy  # noqa: E402
import onnx  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from turns import milliseconds  # noqa: E402

LAYERS = {  # channels, results, height and width
    "vgg 1_2": (64, 64, 224), "vgg 2_2": (128, 128, 112), "vgg 3_2": (256, 256, 56),
    "vgg 4_2": (512, 512, 28), "vgg 5_1": (512, 512, 14),
    "resnet 2": (64, 64, 56), "resnet 3": (128, 128, 28), "resnet 4": (256, 256, 14),
    "resnet 5": (512, 512, 7),
    "unet 1": (64, 64, 128), "unet 2": (128, 128, 64), "unet 3": (256, 256, 32),
    "unet up 1": (128, 64, 128),
}
NATIVE = ["--partition", "none"]
WAYS = {
    "direct": [*NATIVE, "--target", "cpu -winograd=off"],
    "2x2": [*NATIVE, "--target", "cpu -winograd=2"],
    "4x4": [*NATIVE, "--target", "cpu -winograd=4"],
    "chosen": [*NATIVE, "--target", "cpu"],
    "onednn": ["--backends", "onednn", "--require", "onednn"],
}


def drawn(channels, results, size):
    """An image, and weights as He et al. draw them."""
    rng = numpy.random.default_rng(0)
    w = rng.standard_normal((results, channels, 3, 3)) / numpy.sqrt(9 * channels / 2)
    x = rng.standard_normal((1, channels, size, size))
    return [t.astype(numpy.float32) for t in (x, w, rng.standard_normal(results))]


def layer(x, w, b):
    values = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]),
         helper.make_node("Relu", ["c"], ["y"])], "layer",
        [values("x", TensorProto.FLOAT, x.shape)],
        [values("y", TensorProto.FLOAT, (1, w.shape[0], *x.shape[2:]))],
        [numpy_helper.from_array(w, "w"), numpy_helper.from_array(b, "b")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def exact_result(x, w, b):
    """In float64, one element of the window after the other."""
    size = x.shape[2]
    padded = numpy.pad(x[0].astype(numpy.float64), ((0, 0), (1, 1), (1, 1)))
    y = numpy.broadcast_to(b.astype(numpy.float64)[:, None], (w.shape[0], size * size)).copy()
    for r in range(3):
        for c in range(3):
            part = padded[:, r:r + size, c:c + size].reshape(w.shape[1], -1)
            y += w[:, :, r, c].astype(numpy.float64) @ part
    return numpy.maximum(y, 0).reshape(1, w.shape[0], size, size)


def measured(args, name, folder):
    x, w, b = drawn(*LAYERS[name])
    model = folder / "layer.onnx"
    onnx.save(layer(x, w, b), model)
    exact = exact_result(x, w, b)
    errors, runners = {}, {}
    with contextlib.ExitStack() as open_models:
        for way, options in WAYS.items():
            library = folder / f"{way}.so"
            subprocess.run([args.tessera, "compile", model, "-o", library, *options], check=True,
                           capture_output=True)
            compiled = open_models.enter_context(tessera.Model(library, threads=args.threads))
            y = compiled.run({"x": x})["y"]
            errors[way] = numpy.abs(y - exact).max() / numpy.abs(exact).max()
            runners[way] = lambda compiled=compiled: compiled.run({"x": x})
        clock = time.thread_time if args.threads == 1 else time.perf_counter
        return {"errors": errors, "times": milliseconds(runners, args.rounds, clock)}


def table(rows, args):
    ways = list(WAYS)
    lines = [f"{args.threads} thread(s), milliseconds, the median of {args.rounds} rounds in "
             "turns; error relative to the largest result.", "",
             "| layer | " + " | ".join(ways) + " | direct / chosen | onednn / chosen | error 2x2 | "
             "error 4x4 | error direct |", "|" + "---|" * (len(ways) + 6)]
    for name, row in rows.items():
        times, e = row["times"], row["errors"]
        cells = [f"{times[way]:.2f}" for way in ways]
        cells += [f"{times['direct'] / times['chosen']:.2f}",
                  f"{times['onednn'] / times['chosen']:.2f}"]
        cells += [f"{e[way]:.1e}" for way in ("2x2", "4x4", "direct")]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tessera", required=True, type=Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--layers", default="", help="those whose names begin so: vgg,unet")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    prefixes = tuple(args.layers.split(",")) if args.layers else ("",)
    rows = {}
    for name in LAYERS:
        if not name.startswith(prefixes):
            continue
        with tempfile.TemporaryDirectory() as folder:
            rows[name] = measured(args, name, Path(folder))
        print(table({name: rows[name]}, args).splitlines()[-1], flush=True)
    text = table(rows, args)
    if args.out:
        args.out.write_text(text)


if __name__ == "__main__":
    main()
