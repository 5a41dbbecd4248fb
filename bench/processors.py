#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generated code for processors: bfloat16 beside float32, and libraries for several of them.

    bench/processors.py --tessera build/release/bin/tessera MODEL.onnx... [--dim batch=1]
                        [--threads 1] [--rounds 15] [--out FILE.md]

No back end takes part. Libraries take turns; times are medians, of the time of the thread with
`--threads 1`, so that other programs disturb little. Errors are the largest difference from the
model in float32 relative to its largest result. Each compilation begins with an empty cache.
Needs onnx and numpy.
"""
import argparse
import contextlib
import os
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
from turns import milliseconds  # noqa: E402

WAYS = {
    "float32": [],
    "bf16": ["--precision", "bf16"],
    "x86-64-v3": ["--target", "cpu -mcpu=x86-64-v3"],
    "x86-64-v4": ["--target", "cpu -mcpu=x86-64-v4"],
    "icelake-server": ["--target", "cpu -mcpu=icelake-server"],
    "v3,v4": ["--target", "cpu -mcpu=x86-64-v3,x86-64-v4"],
    "v3,v4,sapphirerapids": ["--target", "cpu -mcpu=x86-64-v3,x86-64-v4,sapphirerapids"],
}


def inputs_of(model, sizes):
    """Random numbers; integers are small, as tokens and masks are."""
    rng = numpy.random.default_rng(0)
    values = {}
    for port in model.graph.input:
        tensor = port.type.tensor_type
        shape = [d.dim_value or sizes[d.dim_param] for d in tensor.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        is_float = numpy.issubdtype(dtype, numpy.floating)
        drawn = rng.standard_normal(shape) if is_float else rng.integers(0, 2, shape)
        values[port.name] = drawn.astype(dtype)
    return values


def compiled(args, path, way, folder):
    """The library, and how long it took."""
    library = folder / f"{way}.so"
    with tempfile.TemporaryDirectory() as cache:
        begin = time.monotonic()
        subprocess.run([args.tessera, "compile", path, "-o", library, "--partition", "none",
                        *[word for dim in args.dim for word in ("--dim", dim)], *WAYS[way]],
                       check=True, capture_output=True,
                       env={**os.environ, "TESSERA_CACHE_DIR": cache})
        return library, time.monotonic() - begin


def measured(args, path, folder):
    sizes = {name: int(size) for name, size in (dim.split("=") for dim in args.dim)}
    inputs = inputs_of(onnx.load(path), sizes)
    rows, runners, results = {}, {}, {}
    with contextlib.ExitStack() as open_models:
        for way in WAYS:
            library, seconds = compiled(args, path, way, folder)
            model = open_models.enter_context(tessera.Model(library, threads=args.threads))
            results[way] = [value.astype(numpy.float64) for value in model.run(inputs).values()]
            runners[way] = lambda model=model: model.run(inputs)
            rows[way] = {"seconds": seconds, "megabytes": library.stat().st_size / 1e6}
        clock = time.thread_time if args.threads == 1 else time.perf_counter
        for way, spent in milliseconds(runners, args.rounds, clock).items():
            rows[way]["milliseconds"] = spent
    for way, values in results.items():
        rows[way]["error"] = max(numpy.abs(y - x).max() / numpy.abs(x).max()
                                 for x, y in zip(results["float32"], values, strict=True))
    return rows


def table(name, rows, args):
    lines = [f"{name}, {args.threads} thread(s), the median of {args.rounds} rounds in turns", "",
             "| way | ms | float32 / way | error | MB | s to compile |", "|" + "---|" * 6]
    for way, row in rows.items():
        ratio = rows["float32"]["milliseconds"] / row["milliseconds"]
        lines.append(f"| {way} | {row['milliseconds']:.2f} | {ratio:.2f} | {row['error']:.1e} | "
                     f"{row['megabytes']:.1f} | {row['seconds']:.1f} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--tessera", required=True, type=Path)
    parser.add_argument("--dim", action="append", default=[])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    text = ""
    for path in args.models:
        with tempfile.TemporaryDirectory() as folder:
            text += table(path.stem, measured(args, path, Path(folder)), args) + "\n"
        print(text, flush=True)
    if args.out:
        args.out.write_text(text)


if __name__ == "__main__":
    main()
