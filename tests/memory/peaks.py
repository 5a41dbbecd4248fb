#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What plans of the zoo's and the benchmark's models take over the lower bound, the most that lives
at once, by every algorithm: a line a model, and a table.

    peaks.py [--plans COMMAND] [--part K/N | --today N] [--target KIND]

Open sizes are those of the manifest's first set, and 2 and 128 in the benchmark's models. Exits
with 1 if the default algorithm takes more than 1 % over the bound, and an alignment more.
"""
import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import onnx

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests" / "zoo"))

from hydrate import hydrate, skeleton_path  # noqa: E402
from running.manifest import read_manifest  # noqa: E402

DAY_S = 86400
BENCH = ROOT / "bench" / "models"
BENCH_SIZES = {"batch": 2, "seq": 128}
RESULT = re.compile(r" (\w+) ([\d.]+) ([\d.]+)ms")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plans", default=str(ROOT / "build/release/bin/tessera_plans"))
    parser.add_argument("--part", default="0/1", metavar="K/N")
    parser.add_argument("--today", type=int, metavar="N", help="the part K/N whose turn is today")
    parser.add_argument("--target", action="append", default=[])
    return parser.parse_args()


def dims_of(model: onnx.ModelProto, shapes: dict) -> list[str]:
    """--dim NAME=SIZE for each symbol of the inputs."""
    sizes = {}
    for value in model.graph.input:
        for dim, size in zip(value.type.tensor_type.shape.dim, shapes.get(value.name, [])):
            if dim.dim_param:
                sizes.setdefault(dim.dim_param, size)
    return [f"--dim={name}={size}" for name, size in sizes.items() if size > 0]


def zoo(part: int, of: int, folder: Path):
    for entry in read_manifest()[part::of]:
        model = hydrate(skeleton_path(entry["name"]))
        path = folder / "zoo.onnx"
        onnx.save(model, path)
        shapes = {name: i["shapes"][0] for name, i in entry["inputs"].items()}
        yield entry["name"], path, dims_of(model, shapes)


def bench(folder: Path):
    for skeleton in sorted(BENCH.glob("*.skeleton.onnx")):
        path = folder / "bench.onnx"
        subprocess.run([sys.executable, ROOT / "bench/tools/hydrate.py", skeleton, path],
                       check=True, stdout=subprocess.DEVNULL)
        names = {d.dim_param for i in onnx.load(path).graph.input
                 for d in i.type.tensor_type.shape.dim if d.dim_param}
        yield skeleton.name.split(".")[0], path, [
            f"--dim={name}={BENCH_SIZES.get(name, 2)}" for name in sorted(names)]


def main() -> int:
    options = parse()
    part, of = (int(n) for n in options.part.split("/"))
    if options.today:
        part, of = int(time.time()) // DAY_S % options.today, options.today
    over, bad = {}, 0
    with tempfile.TemporaryDirectory() as folder:
        models = [zoo(part, of, Path(folder))] + ([bench(Path(folder))] if part == 0 else [])
        for name, path, dims in (m for list_ in models for m in list_):
            targets = [f"--target={t}" for t in options.target]
            done = subprocess.run([options.plans, str(path), *dims, *targets], capture_output=True,
                                  text=True)
            bad += done.returncode != 0
            print(name, done.stdout.partition(" ")[2].strip() or done.stderr.strip(), flush=True)
            for algorithm, ratio, _ in RESULT.findall(done.stdout):
                over.setdefault(algorithm, []).append(float(ratio))
    for algorithm, ratios in over.items():
        print(f"{algorithm:<20} {len(ratios)} models, most {max(ratios):.4f}, mean "
              f"{sum(ratios) / len(ratios):.4f}, {sum(r > 1.01 for r in ratios)} above 1.01")
    return 1 if bad or not over else 0


if __name__ == "__main__":
    sys.exit(main())
