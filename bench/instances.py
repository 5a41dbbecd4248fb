#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Throughput of instances side by side: more of them, with more threads, than there are CPUs.

    bench/instances.py [--models minilm,mobilenet_v2] [--layouts 2x1,4x2] [--seconds 4]

A layout is INSTANCESxTHREADS. All instances are of one process and run without a pause, each in a
thread of its own; layouts take turns in short rounds, so that what disturbs the machine disturbs
all. Prints runs a second of each, and relative to the first one. Before it counts, every instance's
results are compared with those of the first: they are the same bits for the same number of threads.
"""
import argparse
import os
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from run import MODELS, ROOT, compile_once, prepare

sys.path.insert(0, str(ROOT / "tests" / "abi"))
import ctypes_model as tessera  # noqa: E402

ROUND_S = 0.5


class Instance:
    def __init__(self, library: Path, feeds: dict, threads: int):
        self.model = tessera.Model(library, threads)
        self.call = self.model.bind(feeds)
        self.runs = 0

    def results(self) -> list[bytes]:
        self.call()
        return [np.ascontiguousarray(v).tobytes() for v in self.call.fetch().values()]

    def run_until(self, end: float) -> None:
        while time.perf_counter() < end:
            self.call()
            self.runs += 1


def instances_of(layout: str, library: Path, feeds: dict) -> list[Instance]:
    count, threads = map(int, layout.split("x"))
    made = [Instance(library, feeds, threads) for _ in range(count)]
    wanted = made[0].results()
    if any(i.results() != wanted for i in made):
        sys.exit(f"{layout}: instances differ in their results")
    return made


def one_round(instances: list[Instance]) -> float:
    """The seconds until the last run has ended."""
    start = time.perf_counter()
    threads = [threading.Thread(target=i.run_until, args=(start + ROUND_S,)) for i in instances]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - start


def compare(name: str, options: argparse.Namespace, library: Path) -> None:
    folder = prepare(name, ROOT / "build" / "bench")
    compile_once([options.tessera, "compile", folder / "model.onnx", "-o", library, "--json"],
                 {**os.environ, "TESSERA_CACHE_DIR": str(folder / "cache")})
    feeds = {f.stem: np.load(f) for f in sorted((folder / "inputs").glob("*.npy"))}
    layouts = {t: instances_of(t, library, feeds) for t in options.layouts.split(",")}
    seconds = dict.fromkeys(layouts, 0.0)
    for _ in range(max(1, round(options.seconds / ROUND_S))):
        for layout, instances in layouts.items():
            seconds[layout] += one_round(instances)
    rates = {t: sum(i.runs for i in instances) / seconds[t] for t, instances in layouts.items()}
    first = next(iter(rates.values()))
    print(f"{name:14} " + "  ".join(
        f"{t}: {rate:.1f} a second ({rate / first:.2f})" for t, rate in rates.items()), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--layouts", default="2x1,4x2")
    parser.add_argument("--seconds", type=float, default=4, help="of measuring, each layout")
    parser.add_argument("--tessera", type=Path, default=ROOT / "build" / "tessera")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in options.models.split(","):
            compare(name, options, Path(folder) / f"{name}.so")


if __name__ == "__main__":
    main()
