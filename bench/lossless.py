#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Libraries with packed weights beside those that have them as they are: size, and time to load.

    bench/lossless.py [--tessera build/release/bin/tessera] [--types bfloat16,float16,float32]
                      [--width 4096] [--layers 4] [--targets cpu] [--threads 1] [--rounds 9]
                      [--model FILE.onnx ...] [--libraries FOLDER] [--out FILE.md]

A model is a chain of `--layers` products with weights of a normal distribution, or what --model
names. --libraries keeps what is compiled, and compiles nothing that is there; with --rounds 0
nothing runs, so that a machine with a GPU needs no compiler.

Each round loads both libraries in processes of their own, in turns: with their files in the
system's cache, and without (as far as the system forgets them when it is asked to). `loaded` is
until the model is created; `first result` adds an instance, which is what unpacks for a GPU, and a
run, which reads all weights.
The speed of unpacking is the bytes of the packed weights, unpacked, over the processor time that
loading takes more than without packing, the least of several, when the system has pages at hand.
Exit status 1 if results differ in a bit.
"""
import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "tests" / "abi")]

import numpy as np  # noqa: E402
import ctypes_model as tessera  # noqa: E402

LOADS = 5  # of which the least processor time counts


def chain(dtype, args, path):
    import onnx
    from onnx import TensorProto, helper
    random = np.random.default_rng(7)
    kind = getattr(TensorProto, dtype.upper() if dtype != "float32" else "FLOAT")
    numbers = helper.tensor_dtype_to_np_dtype(kind)
    nodes, constants = [], []
    for i in range(args.layers):
        w = random.standard_normal((args.width, args.width), np.float32) / args.width ** 0.5
        constants.append(helper.make_tensor(f"w{i}", kind, w.shape, w.astype(numbers).tobytes(),
                                            raw=True))
        nodes.append(helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"x{i + 1}"]))
    x, y = (helper.make_tensor_value_info(f"x{i}", kind, [1, args.width])
            for i in (0, args.layers))
    graph = helper.make_graph(nodes, "chain", [x], [y], constants)
    onnx.save(helper.make_model(graph, ir_version=9,
                                opset_imports=[helper.make_opsetid("", 17)]), path)


def compile_both(args, model, folder):
    """The libraries by their kind, and the bytes of what is packed, unpacked."""
    libraries = {kind: folder / f"{kind}.so" for kind in ("raw", "lossless")}
    told = folder / "weights.json"
    for kind, options in (("raw", []), ("lossless", ["--weights", "lossless"])):
        if told.exists():
            continue
        ran = subprocess.run([args.tessera, "compile", model(), "-o", libraries[kind], "--json",
                              *sum((["--target", t] for t in args.targets.split(",")), []),
                              *options], check=True, stdout=subprocess.PIPE)
    if not told.exists():
        told.write_text(json.dumps(json.loads(ran.stdout).get("weights", [])))
    rows = json.loads(told.read_text())
    return libraries, sum(row["bytes_before"] for row in rows if row["form"] == "lossless")


def load(path, threads):
    """What a child does; it prints times in milliseconds and a hash of the results."""
    begin = time.perf_counter()
    with tessera.Model(path, threads=threads) as model:
        loaded = model.load_us / 1e3
        random = np.random.default_rng(1)
        feeds = {}
        for io in model.inputs:
            shape = [max(io.shape[d], 1) for d in range(io.ndim)]
            dtype = tessera.to_numpy_dtype(io.dtype)
            feeds[io.name.decode()] = random.integers(0, 2, shape).astype(dtype)
        results = model.run(feeds)
        first = (time.perf_counter() - begin) * 1e3
    cpu = []
    for _ in range(LOADS):
        before = time.process_time()
        with tessera.Model(path, threads=threads):
            cpu.append(time.process_time() - before)
    bits = hashlib.sha256(b"".join(results[k].tobytes() for k in sorted(results))).hexdigest()
    print(json.dumps({"loaded": loaded, "cpu": min(cpu) * 1e3, "first": first, "bits": bits}))


def forget(path):
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)


def child(path, args):
    ran = subprocess.run([sys.executable, __file__, "--load", path, "--threads", str(args.threads)],
                         check=True, stdout=subprocess.PIPE,
                         env=os.environ | {"OMP_NUM_THREADS": str(args.threads)})
    return json.loads(ran.stdout)


def measure(args, name, model, folder):
    """A row of the table, and whether all results have the same bits."""
    libraries, unpacked = compile_both(args, model, folder)
    if args.rounds == 0:
        return None, True
    runs = {(kind, cold): [] for kind in libraries for cold in (False, True)}
    for _ in range(args.rounds):
        for (kind, cold), times in runs.items():
            if cold:
                forget(libraries[kind])
            times.append(child(libraries[kind], args))
    median = {key: {what: statistics.median(t[what] for t in times)
                    for what in ("loaded", "first")} for key, times in runs.items()}
    size = {kind: path.stat().st_size for kind, path in libraries.items()}
    least = {kind: min(t["cpu"] for t in runs[kind, False]) for kind in libraries}
    more = least["lossless"] - least["raw"]
    cells = [name, f"{size['raw'] / 1e6:.1f}", f"{size['lossless'] / 1e6:.1f}",
             f"{size['lossless'] / size['raw']:.3f}"]
    for cold, what in ((False, "loaded"), (False, "first"), (True, "first")):
        cells += [f"{median[kind, cold][what]:.1f}" for kind in libraries]
    cells.append(f"{unpacked / more / 1e6:.2f}" if unpacked else "-")
    bits = {t["bits"] for times in runs.values() for t in times}
    return "| " + " | ".join(cells) + " |", len(bits) == 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tessera", default=str(HERE.parent / "build/release/bin/tessera"))
    parser.add_argument("--types", default="bfloat16,float16,float32")
    parser.add_argument("--width", type=int, default=4096)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--targets", default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--model", action="append", default=[])
    parser.add_argument("--libraries", type=Path)
    parser.add_argument("--out")
    parser.add_argument("--load", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.load:
        return load(args.load, args.threads)
    lines = ["| weights | library, MB | packed | ratio | loaded, ms | packed | first result, ms | "
             "packed | from disk, ms | packed | unpacked, GB/s of processor time |",
             "|---|---|---|---|---|---|---|---|---|---|---|"]
    print("\n".join(lines), flush=True)
    all_equal = True
    for name in args.model or args.types.split(","):
        with tempfile.TemporaryDirectory() as work:
            def model():
                path = Path(work) / "chain.onnx"
                if not args.model:
                    chain(name, args, path)
                return name if args.model else path

            folder = args.libraries / Path(name).stem if args.libraries else Path(work)
            folder.mkdir(parents=True, exist_ok=True)
            row, is_equal = measure(args, Path(name).stem, model, folder)
        if row is None:
            continue
        all_equal &= is_equal
        lines.append(row)
        print(row, "" if is_equal else "results differ", flush=True)
    if args.out:
        Path(args.out).write_text("\n".join(lines) + "\n")
    return 0 if all_equal else 1


if __name__ == "__main__":
    sys.exit(main())
