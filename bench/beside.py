#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A commit beside an earlier one: what compiling takes by default, and what is compiled runs in.

    bench/beside.py --before COMMAND [--tessera COMMAND] [--models minilm,resnet50] [--rounds 5]
                    [--threads 1] [-- OPTIONS OF tessera compile]

Both commands compile each model of run.py in turns, every time with an empty cache; then each
measures its own library (`tessera bench`), in turns. Ratios are medians of those of the rounds:
above 1 the earlier commit is faster.
"""
import argparse
import json
import os
import statistics
import subprocess
from pathlib import Path

from report import geometric_mean, table
from run import ROOT, compile_cold, prepare

SECONDS = "1"


def median_us(command: Path, library: Path, threads: int) -> float:
    done = subprocess.run([command, "bench", library, "--json", "--seconds", SECONDS,
                           "--threads", str(threads)], check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)["median_us"]


def row_of(name: str, options: argparse.Namespace) -> dict:
    folder = prepare(name, ROOT / "build" / "bench")
    commands = {"before": options.before, "now": options.tessera}
    seconds = {who: [] for who in commands}
    times = {who: [] for who in commands}
    for _ in range(options.rounds):
        for who, command in commands.items():
            library = folder / f"beside-{who}.so"
            seconds[who].append(compile_cold(command, folder, folder / "model.onnx", library,
                                             options.compile)["seconds"])
    for _ in range(options.rounds):
        for who, command in commands.items():
            times[who].append(median_us(command, folder / f"beside-{who}.so", options.threads))
    ratio = lambda of: statistics.median(n / b for n, b in zip(of["now"], of["before"]))
    return {"model": name, "before_s": statistics.median(seconds["before"]),
            "now_s": statistics.median(seconds["now"]), "compiling": ratio(seconds),
            "before_ms": statistics.median(times["before"]) / 1e3,
            "now_ms": statistics.median(times["now"]) / 1e3, "running": ratio(times)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, required=True)
    parser.add_argument("--tessera", type=Path, default=ROOT / "build" / "tessera")
    parser.add_argument("--models", default="minilm,mobilenet_v2,resnet50,gpt2,bert-base")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("compile", nargs="*", help="options of tessera compile, after --")
    options = parser.parse_args()
    rows = [row_of(name, options) for name in options.models.split(",")]
    print("\n".join(table(
        ["model", "compiled before, s", "now", "ratio", "runs before, ms", "now", "ratio"],
        [[r["model"], f"{r['before_s']:.2f}", f"{r['now_s']:.2f}", f"{r['compiling']:.3f}",
          f"{r['before_ms']:.2f}", f"{r['now_ms']:.2f}", f"{r['running']:.3f}"] for r in rows])))
    for what in ("compiling", "running"):
        print(f"{what}: {geometric_mean([r[what] for r in rows]):.3f}, "
              f"most {max(r[what] for r in rows):.3f}")


if __name__ == "__main__":
    main()
