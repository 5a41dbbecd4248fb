#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Products of floats of eight bits against our float16 on one GPU: numbers first, then times.

    fp8.py compile TESSERA FOLDER [--by cublas] [OPTIONS OF tessera compile]
                                                                   needs nvcc, and no GPU
    fp8.py run FOLDER [--rounds 7]                                 needs a GPU and torch

Two models, with open numbers of rows: a product of 4096 columns and terms, run with 4096 rows, and
BERT-large's feed-forward network, run with 12288. Each is compiled in float16, with `--weights fp8`
and scales that runs find (dynamic), and with `--calibrate` (static). Results are compared with the
same rounding done by torch, and with float32; a line that begins with WRONG is a finding. Times are
medians of rounds in turns. Products are CUTLASS's unless `--by` names another back end. Weights
repeat a block, so that libraries pack well where they must be carried.
"""
import argparse
import statistics
import subprocess
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/abi"))

LARGEST, BLOCK = 448.0, 256
SIZES = {"product": ((4096, 4096),), "ffn": ((4096, 1024), (1024, 4096))}  # columns, terms
ROWS = {"product": 4096, "ffn": 12288}
TEXTS = {"product": """#[version = "0.0.5"]
def @main(%x: Tensor[(?m, 4096), float16]) {
  %0 = nn.dense(cast(%x, dtype="float32"), meta[relay.Constant][0], units=4096);
  cast(%0, dtype="float16")
}
#[metadata in "product.npz"]
""", "ffn": """#[version = "0.0.5"]
def @main(%x: Tensor[(?m, 1024), float16]) {
  %0 = cast(%x, dtype="float32");
  %1 = nn.gelu(add(nn.dense(%0, meta[relay.Constant][0], units=4096), meta[relay.Constant][1]));
  %2 = add(add(nn.dense(%1, meta[relay.Constant][2], units=1024), meta[relay.Constant][3]), %0);
  cast(%2, dtype="float16")
}
#[metadata in "ffn.npz"]
"""}
RULES = ["--weights", "fp8", "--weights", "@first=fp8", "--weights", "@last=fp8"]
TARGETS = ["--target", "cuda", "--precision", "fp16"]


def constants(name: str) -> list[np.ndarray]:
    """The weight and, of the network, the bias of each product."""
    random, all_of_them = np.random.default_rng(5), []
    for columns, terms in SIZES[name]:
        block = random.standard_normal((BLOCK, terms), np.float32) / np.float32(terms**0.5)
        all_of_them.append(np.tile(block, (columns // BLOCK, 1)))
        if name == "ffn":
            all_of_them.append(random.standard_normal(columns, np.float32) / 4)
    return all_of_them


def calibration(name: str) -> np.ndarray:
    return np.random.default_rng(9).standard_normal((64, SIZES[name][0][1])).astype(np.float16)


def compile_all(command: str, folder: Path, by: str, options: list[str]) -> None:
    for name, text in TEXTS.items():
        inputs = folder / f"{name}-inputs"
        inputs.mkdir(parents=True, exist_ok=True)
        np.savez(inputs / "0.npz", x=calibration(name))
        np.savez(folder / f"{name}.npz", **{str(i): c for i, c in enumerate(constants(name))})
        (folder / f"{name}.relay").write_text(text)
        for form, more in {"fp16": [], "dynamic": RULES,
                           "static": [*RULES, "--calibrate", str(inputs)]}.items():
            subprocess.run([command, "compile", folder / f"{name}.relay", "-o",
                            folder / f"{name}-{form}.so", *TARGETS, "--target", by, "--require", by,
                            *more, *options], check=True)


def rounded(x, scale, torch):
    """As floats of eight bits times the scale."""
    return (x / scale).clamp(-LARGEST, LARGEST).to(torch.float8_e4m3fn).float() * scale


def expected(name: str, x, form: str, torch):
    """What the library computes, by torch in float32; "exact": without any rounding."""
    given = torch.from_numpy(calibration(name)).cuda().float()
    values = [torch.from_numpy(c).cuda() for c in constants(name)]

    def product(data, seen, weight):
        if form == "exact":
            return data @ weight.T, seen @ weight.T
        wide = rounded(weight, weight.abs().amax(1, True) / LARGEST, torch)
        scale = (data.abs().amax(1, True) if form == "dynamic" else seen.abs().amax()) / LARGEST
        return rounded(data, scale, torch) @ wide.T, seen @ weight.T

    y, seen = product(x.float(), given, values[0])
    if name == "ffn":
        h, seen = (torch.nn.functional.gelu(v + values[1]) for v in (y, seen))
        if form != "exact":
            h = h.half().float()
        y = product(h, seen, values[2])[0] + values[3] + x.float()
    return y


def run_all(folder: Path, rounds: int) -> int:
    import ctypes_model
    import torch
    from whole_models import medians
    torch.backends.cuda.matmul.allow_tf32 = False
    print(torch.cuda.get_device_name(), f"torch {torch.__version__}", flush=True)
    status = 0
    for name, rows in ROWS.items():
        terms = SIZES[name][0][1]
        columns = SIZES[name][-1][0]
        torch.manual_seed(3)
        x = torch.randn(rows, terms, device="cuda").half()
        exact, stream = expected(name, x, "exact", torch), torch.cuda.Stream()
        calls = {}
        for form in ("fp16", "dynamic", "static"):
            model = ctypes_model.Model(folder / f"{name}-{form}.so")
            y = torch.full((rows, columns), float("nan"), device="cuda", dtype=torch.half)
            output = model.outputs[0].name.decode()
            calls[form] = model.bind_on_stream({"x": x}, {output: y}, stream.cuda_stream)
            calls[form].model = model
            again = []
            for _ in range(2):
                y.fill_(float("nan"))
                torch.cuda.synchronize()
                calls[form]()
                stream.synchronize()
                again.append(y.clone())
            wanted = exact if form == "fp16" else expected(name, x, form, torch)
            off = ((y.float() - wanted).norm() / wanted.norm()).item()
            from_exact = ((y.float() - exact).norm() / exact.norm()).item()
            limit = 1e-3 if form == "fp16" else 5e-3
            is_right = off < limit and torch.equal(*again)
            status |= not is_right
            same = "equal" if torch.equal(*again) else "differ"
            print(f"{'ok' if is_right else 'WRONG'} {name} {form}: {off:.2g} from the same "
                  f"rounding by torch, {from_exact:.2g} from float32, two runs {same}", flush=True)
        with torch.cuda.stream(stream):
            times = {form: [1e3 * ms for ms in all_of_them]
                     for form, all_of_them in medians(calls, rounds).items()}
        flops = 2 * rows * sum(c * k for c, k in SIZES[name])
        base = statistics.median(times["fp16"])
        for form, all_of_them in times.items():
            us = statistics.median(all_of_them)
            print(f"{name} of {rows} rows, {form}: {us:.1f} us "
                  f"({min(all_of_them):.1f} to {max(all_of_them):.1f}), "
                  f"{flops / us / 1e6:.0f} TFLOP/s, {base / us:.2f} of float16's speed", flush=True)
    return status


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ways = parser.add_subparsers(dest="way", required=True)
    compiling = ways.add_parser("compile")
    compiling.add_argument("tessera")
    compiling.add_argument("folder", type=Path)
    compiling.add_argument("--by", default="cutlass")
    running = ways.add_parser("run")
    running.add_argument("folder", type=Path)
    running.add_argument("--rounds", type=int, default=7)
    options, more = parser.parse_known_args()
    if options.way == "run":
        return run_all(options.folder, options.rounds)
    compile_all(options.tessera, options.folder, options.by, more)
    return 0


if __name__ == "__main__":
    sys.exit(main())
