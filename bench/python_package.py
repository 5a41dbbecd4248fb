#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the package for Python costs: importing it beside numpy alone, a call of a model beside the
call of its library, installing a wheel. To be run with a Python that has the package:

    python_package.py [--wheel build/wheels/tessera-*.whl] [--torch]

Times are [median, least] of turns.

--torch compiles a module of 400 MB instead, and compares the memory that this takes with its
weights.
"""
import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HEADER = '#[version = "0.0.5"]\n'
# The least that a library does: what is left is the way there.
ADD = HEADER + "def @main(%x: Tensor[(4), float32]) { add(%x, %x) }"
OPEN = HEADER + "def @main(%x: Tensor[(?n, 4), float32]) { add(%x, %x) }"
THREE = HEADER + """def @main(%x: Tensor[(2, 8), int64], %y: Tensor[(2, 8), int64],
  %z: Tensor[(2, 8), int64]) { add(add(%x, %y), %z) }"""


def import_ms(runs: int) -> dict:
    code = ("import numpy; from time import perf_counter as wall, process_time as cpu; "
            "begin = wall(), cpu(); import tessera; "
            "print(1e3 * (wall() - begin[0]), 1e3 * (cpu() - begin[1]))")
    times = [subprocess.check_output([sys.executable, "-c", code]).split() for _ in range(runs)]
    found = {name: [float(t[i]) for t in times]
             for i, name in enumerate(("import_ms", "import_cpu_ms"))}
    return {name: [statistics.median(t[1:]), min(t)] for name, t in found.items()}


def call_us(call, calls: int = 2000) -> float:
    begin = time.perf_counter()
    for _ in range(calls):
        call()
    return 1e6 * (time.perf_counter() - begin) / calls


def calls(text: str, feeds: dict, turns: int) -> dict:
    import tessera
    model = tessera.compile(text, partition="none", threads=1, progress=False)
    arrays = [feeds[port.name] for port in model.inputs]
    out = model(*arrays)
    ways = {"library_us": model.bind(feeds), "call_us": lambda: model(*arrays),
            "call_out_us": lambda: model(*arrays, out=out), "run_us": lambda: model.run(feeds)}
    times = {way: [] for way in ways}
    for _ in range(turns):  # in turns: what else the machine does is all the ways'
        for way, call in ways.items():
            times[way].append(call_us(call))
    # The least, too: what it is where nothing else runs.
    return {way: [statistics.median(t), min(t)] for way, t in times.items()}


def install(wheel: Path) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        begin = time.perf_counter()
        pip = [f"{folder}/bin/pip", "install", "--quiet", wheel]
        subprocess.run([*pip, "--no-deps"], check=True)
        alone = time.perf_counter() - begin
        subprocess.run(pip, check=True)  # numpy, oneDNN and what that needs
        return {"install_alone_s": alone, "install_s": time.perf_counter() - begin,
                "wheel_mb": wheel.stat().st_size / 1e6}


def compile_module() -> dict:
    import tessera
    import torch
    def peak_mb() -> float:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3

    def compiler_mb(module, size: int) -> float:
        made = tessera.compile(module, example_inputs=(torch.randn(1, size),), progress=False)
        return made.report.data["peak_bytes"] / 1e6

    least = compiler_mb(torch.nn.Linear(4, 4), 4)  # what exporting takes by itself, of any size
    before = peak_mb()
    module = torch.nn.Sequential(*(torch.nn.Linear(5000, 5000) for _ in range(4)))
    weights = sum(p.nbytes for p in module.parameters()) / 1e6
    begin = time.perf_counter()
    there = compiler_mb(module, 5000) - least
    here = peak_mb() - before
    return {"weights_mb": weights, "seconds": time.perf_counter() - begin, "here_mb": here,
            "compiler_mb": there, "times_weights": (here + there) / weights}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheel", type=Path)
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--torch", action="store_true")
    options = parser.parse_args()
    if options.torch:
        print(json.dumps(compile_module(), indent=1))
        return
    import numpy as np
    row = import_ms(options.turns)
    row["add"] = calls(ADD, {"x": np.ones(4, np.float32)}, options.turns)
    row["open size"] = calls(OPEN, {"x": np.ones((3, 4), np.float32)}, options.turns)
    row["three inputs"] = calls(THREE, {n: np.ones((2, 8), np.int64) for n in "xyz"},
                                options.turns)
    if options.wheel:
        row |= install(options.wheel)
    print(json.dumps(row, indent=1))


if __name__ == "__main__":
    main()
