#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One library for many shapes against a library for each.

    bench/dynamic_shapes.py MODEL.onnx [--tessera build/release/bin/tessera] [--partition greedy]
                            [--max-batch 8] [--max-seq 128] [--threads 2] [--seconds 2] [--out F.md]

MODEL has inputs of symbolic sizes `batch` and `seq` (bench/tools/hydrate.py without --dim).
Compiles it once with `--dim batch=1..B:1 --dim seq=1..S:S` and once a shape with numbers, and
writes for ten shapes, the smallest and the largest among them, the largest difference of the
results (relative to the largest magnitude) and the median latency of both. Exit status 1 if a
difference is above 1e-4.
"""
import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "abi"))

import numpy as np  # noqa: E402

import ctypes_model as tessera  # noqa: E402

LIMIT = 1e-4


def shapes_up_to(batch: int, seq: int) -> list[tuple[int, int]]:
    some = [(1, 1), (1, seq), (batch, seq), (batch, 1), (1, seq // 2), (2, seq // 4), (3, 17),
            (batch // 2, seq - 1), (1, 7), (5, 33)]
    return [(max(1, min(b, batch)), max(1, min(s, seq))) for b, s in some]


def feeds_for(model: tessera.Model, seed: int) -> dict[str, np.ndarray]:
    """Of the sizes of a static library: token ids, masks that begin with 1, normal floats."""
    random = np.random.default_rng(seed)
    feeds = {}
    for io in model.inputs:
        name = io.name.decode()
        shape = [io.shape[d] for d in range(io.ndim)]
        dtype = tessera.to_numpy_dtype(io.dtype)
        if dtype.kind == "f":
            feeds[name] = random.standard_normal(shape).astype(dtype)
        else:
            flags = "mask" in name or "type" in name
            feeds[name] = random.integers(0, 2 if flags else 1000, shape).astype(dtype)
            if "mask" in name:
                feeds[name][:, 0] = 1
    return feeds


def median_us(model: tessera.Model, feeds: dict[str, np.ndarray], seconds: float) -> float:
    call = model.bind(feeds)
    call()
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 3:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1e6 * float(np.median(times))


def difference(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> float:
    worst = 0.0
    for name, w in wanted.items():
        if found[name].shape != w.shape:
            return float("inf")
        worst = max(worst, float(np.abs(found[name] - w).max() / max(1e-6, np.abs(w).max())))
    return worst


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--tessera", default=str(ROOT / "build/release/bin/tessera"))
    parser.add_argument("--partition", default="greedy")
    parser.add_argument("--max-batch", type=int, default=8)
    parser.add_argument("--max-seq", type=int, default=128)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--out")
    args = parser.parse_args()
    vendor = ROOT / ".deps/python/lib"
    os.environ.setdefault("TESSERA_LIBRARY_PATH", str(vendor))

    def compiled(folder: str, name: str, dims: list[str]) -> tuple[str, float]:
        path = f"{folder}/{name}.so"
        start = time.perf_counter()
        subprocess.run([args.tessera, "compile", args.model, "-o", path, "--partition",
                        args.partition, *[x for d in dims for x in ("--dim", d)]],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return path, time.perf_counter() - start

    rows, worst = [], 0.0
    with tempfile.TemporaryDirectory(prefix="tessera-dynamic-") as folder:
        path, seconds = compiled(folder, "dynamic", [f"batch=1..{args.max_batch}:1",
                                                     f"seq=1..{args.max_seq}:{args.max_seq}"])
        with tessera.Model(path, args.threads) as dynamic:
            for i, (b, s) in enumerate(shapes_up_to(args.max_batch, args.max_seq)):
                static, _ = compiled(folder, "static", [f"batch={b}", f"seq={s}"])
                alone = f"{folder}/static{i}.so"  # a library is loaded once by its name
                os.rename(static, alone)
                with tessera.Model(alone, args.threads) as fixed:
                    feeds = feeds_for(fixed, i)
                    error = difference(dynamic.run(feeds), fixed.run(feeds))
                    times = [median_us(m, feeds, args.seconds) for m in (fixed, dynamic)]
                os.unlink(alone)
                worst = max(worst, error)
                rows.append(f"| {b} x {s} | {error:.1e} | {times[0]:.0f} | {times[1]:.0f} | "
                            f"{times[1] / times[0]:.2f} |")
                print(rows[-1], file=sys.stderr, flush=True)
    name = Path(args.model).stem
    text = (f"## {name}, partition {args.partition}, {args.threads} threads\n\n"
            f"One library for batch 1..{args.max_batch} and seq 1..{args.max_seq}, compiled in "
            f"{seconds:.1f} s; largest difference {worst:.1e}.\n\n"
            "| shape | difference | static us | dynamic us | ratio |\n|---|---|---|---|---|\n"
            + "\n".join(rows) + "\n")
    if args.out:
        with open(args.out, "a", encoding="utf-8") as out:
            out.write(text + "\n")
    print(text)
    return 0 if worst <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
