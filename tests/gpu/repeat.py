#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs libraries of the models of models.py again and again, in turns on two sets of inputs: all
results of one must have the same bytes, and be what onnxruntime computes on the CPU in float32.

    repeat.py FOLDER [--runs 30] [NAME...]

FOLDER has NAME.so; NAME.onnx is made there. A run is done as 30 calls of an instance that replays
them, and 30 of one that does not. Values of the turn before would be seen where a kernel reads what
the one before it has yet to write.
"""
import argparse
import sys
from pathlib import Path

import numpy as np
import onnxruntime

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "abi"))
import ctypes_model as tessera  # noqa: E402

import models  # noqa: E402

# Errors over the largest magnitude of the reference: of float32, and of float16 in several layers.
MOST_ERROR = {"conv": 1e-5}
TURNS = 2
MOST_ERROR_OF_FLOAT16 = 1e-2


def results(library: Path, runs: int, replay: bool):
    """Of each run its turn, the inputs and the result."""
    with tessera.Model(library, replay=replay) as model:
        shapes = [(io.name.decode(), [io.shape[i] for i in range(io.ndim)]) for io in model.inputs]
        feeds = [models.feeds(shapes, turn) for turn in range(TURNS)]
        ours = [{io.name.decode(): f[io.name.decode()].astype(tessera.to_numpy_dtype(io.dtype))
                 for io in model.inputs} for f in feeds]
        for run in range(runs):
            turn = run % TURNS
            yield turn, feeds[turn], next(iter(model.run(ours[turn]).values()))


def check(folder: Path, name: str, runs: int) -> bool:
    graph = models.Graph()
    result = models.MODELS[name](graph)
    path = folder / f"{name}.onnx"
    graph.save(path, result)
    wanted, good = {}, True
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    for replay in (True, False):
        seen, worst = set(), 0.0
        for turn, feeds, y in results(folder / f"{name}.so", runs, replay):
            if turn not in wanted:
                wanted[turn] = session.run(None, feeds)[0]
            seen.add((turn, y.tobytes()))
            # Also where one is no number.
            error = np.abs(y.astype(np.float32) - wanted[turn]).max() / np.abs(wanted[turn]).max()
            worst = max(worst, float(error)) if error == error else float("inf")
        limit = MOST_ERROR.get(name, MOST_ERROR_OF_FLOAT16)
        right = (len(seen) == len(wanted) and worst <= limit
                 and all(np.abs(w).max() > 0 for w in wanted.values()))
        good &= right
        print(f"{'ok' if right else 'WRONG'} {name}, {'replayed' if replay else 'launched'}: "
              f"{len(seen)} different of {runs} on {len(wanted)} sets of inputs, error {worst:.2g} "
              f"(at most {limit:g})", flush=True)
    return good


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", default=list(models.MODELS))
    parser.add_argument("--runs", type=int, default=30)
    args = parser.parse_args()
    sys.exit(0 if all([check(args.folder, name, args.runs) for name in args.names]) else 1)


if __name__ == "__main__":
    main()
