#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attention and norms by cuDNN, by CUTLASS and in generated code: the same graph by each, checked
against the reference, then timed in turns on the device.

    attention_and_norms.py TESSERA CUTLASS_INCLUDE [--rounds 5] [--jobs 8]

needs the driver and cuDNN where it runs (`-runtime_engines`), and nvcc.
"""
import argparse
import concurrent.futures
import json
import pathlib
import statistics
import subprocess
import tempfile

HEADS = """#[version = "0.0.5"]
def @main(%q: Tensor[({b}, {s}, {w}), float16], %k: Tensor[({b}, {s}, {w}), float16],
          %v: Tensor[({b}, {s}, {w}), float16], %m: Tensor[({b}, 1, 1, {s}), float16]) {{
  %0 = transpose(reshape(multiply(%q, 0.125f16), newshape=[{b}, {s}, {h}, {d}]), axes=[0, 2, 1, 3]);
  %1 = transpose(reshape(%k, newshape=[{b}, {s}, {h}, {d}]), axes=[0, 2, 3, 1]);
  %2 = transpose(reshape(%v, newshape=[{b}, {s}, {h}, {d}]), axes=[0, 2, 1, 3]);
  %3 = reshape(arange(0i64, {s}i64, 1i64, dtype="int64"), newshape=[1, 1, 1, {s}]);
  %4 = where(less_equal(%3, reshape(%3, newshape=[1, 1, {s}, 1])), 0f16, -inff16);
  %5 = nn.matmul(%0, %1, units=None);
  %6 = nn.matmul(nn.softmax({scores}, axis=3), %2, units=None);
  reshape(transpose(%6, axes=[0, 2, 1, 3]), newshape=[{b}, {s}, {w}])
}}
"""
NORM = """#[version = "0.0.5"]
def @main(%x: Tensor[({rows}, {width}), {dtype}], %g: Tensor[({width}), {dtype}],
          %b: Tensor[({width}), {dtype}]) {{
  {body}
}}
"""


def attention(b, s, h, d, scores):
    return HEADS.format(b=b, s=s, h=h, d=d, w=h * d, scores=scores)


def graphs():
    for b, s, h, d in [(8, 128, 12, 64), (2, 1024, 16, 64), (1, 4096, 16, 128)]:
        for name, scores in [("plain", "%5"), ("mask", "add(%5, %m)"), ("causal", "add(%5, %4)")]:
            yield f"attention_{name}_{b}x{s}x{h}x{d}", attention(b, s, h, d, scores), True
    for dtype, rows, width in [("float16", 4096, 1024), ("float16", 16384, 4096),
                               ("float32", 4096, 1024), ("bfloat16", 64, 8192)]:
        for name, body in [("layer", "nn.layer_norm(%x, %g, %b)"),
                           ("rms", "nn.rms_norm(%x, %g)")]:
            text = NORM.format(dtype=dtype, rows=rows, width=width, body=body)
            yield f"{name}_norm_{dtype}_{rows}x{width}", text, False


def compiled(options, folder, name, text, has_cutlass):
    """The library of each who can, and what went wrong."""
    model = pathlib.Path(folder) / f"{name}.relay"
    model.write_text(text)
    targets = {"native": [], "cudnn": ["--target", "cudnn -runtime_engines"]}
    if has_cutlass:
        targets["cutlass"] = ["--target", f"cutlass -include={options.cutlass}"]
    libraries, wrong = {}, []
    for who, target in targets.items():
        library = model.with_suffix(f".{who}.so")
        done = subprocess.run(
            [options.tessera, "compile", str(model), "-o", str(library), "--target", "cuda",
             *target, "--verify"], capture_output=True, text=True)
        if done.returncode != 0:
            wrong.append(f"WRONG {name} {who}: {(done.stdout + done.stderr)[-400:]}")
            continue
        if who == "cudnn" and "placement: cudnn" not in done.stdout + done.stderr:
            wrong.append(f"WRONG {name}: cudnn takes nothing of it")
        libraries[who] = library
    return name, libraries, wrong


def times_of(libraries, rounds, command):
    """Microseconds of each, all in turns."""
    times = {who: [] for who in libraries}
    for _ in range(rounds):
        for who, library in libraries.items():
            ran = subprocess.run([command, "bench", str(library), "--seconds", "0.3", "--json"],
                                 capture_output=True, text=True, check=True)
            times[who].append(json.loads(ran.stdout)["device_median_us"])
    return {who: statistics.median(t) for who, t in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tessera")
    parser.add_argument("cutlass")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=8, help="of compiling")
    options = parser.parse_args()
    status = 0
    with tempfile.TemporaryDirectory() as folder:
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            rows = list(pool.map(lambda graph: compiled(options, folder, *graph), graphs()))
        for name, libraries, wrong in rows:
            for line in wrong:
                print(line, flush=True)
                status = 1
            print(name, "  ".join(f"{who} {us:.1f} us" for who, us in times_of(
                libraries, options.rounds, options.tessera).items()), flush=True)
    return status


if __name__ == "__main__":
    raise SystemExit(main())
