#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torch.compile(backend="tessera") on modules of torchvision and transformers, beside torch itself.

    run.py [--model TEXT]... [--threads N] [--results FILE]

Each is called with two sets of arguments, of which the second has other sizes, and the results are
compared with those of eager execution. A line for each: the result, graphs that were compiled and
refused, the largest difference beside the largest number, the median of milliseconds and the least
beside eager's, and seconds of compilation. Exits with 1 if a result is wrong or a graph refused.
Needs torch, torchvision, transformers, onnx, onnxscript, and the package in PYTHONPATH; `make
torch-models` runs it.
"""
import argparse
import json
import statistics
import time
import warnings
from pathlib import Path

import torch
from tessera import torch_backend
from torch.utils import _pytree as pytree

from models import MODELS

TOLERANCE = 1e-3  # of the largest number of a result


def tensors(outcome) -> list[torch.Tensor]:
    if hasattr(outcome, "items"):  # the dictionaries of transformers
        outcome = dict(outcome)
    found = [x for x in pytree.tree_leaves(outcome) if isinstance(x, torch.Tensor)]
    for cache in pytree.tree_leaves(outcome):  # of keys and values
        for layer in getattr(cache, "layers", ()):
            found += [layer.keys, layer.values]
    return found


def largest(numbers) -> float:
    """NaN where one is: Python's max() passes over it."""
    return torch.tensor(list(numbers)).max().item()


def difference(got, wanted) -> float:
    got, wanted = tensors(got), tensors(wanted)
    if [x.shape for x in got] != [x.shape for x in wanted]:
        return float("inf")
    return largest(((a - b).abs().max() / b.abs().max()).item() for a, b in zip(got, wanted))


def settle(module: torch.nn.Module, call) -> None:
    """Gives batch norms the statistics of a batch: those of a new module let numbers vanish."""
    norms = [m for m in module.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    for norm in norms:
        norm.momentum = 1.0
        norm.train()
    for _ in norms and range(2):
        call(module)
    module.eval()


def milliseconds(functions, turns: int = 11) -> list[tuple[float, float]]:
    """Medians and the least, of turns in which the order changes."""
    times = [[] for _ in functions]
    pairs = list(zip(functions, times))
    for _ in range(turns):
        for function, own in pairs:
            begin = time.perf_counter()
            function()
            own.append(1e3 * (time.perf_counter() - begin))
        pairs.reverse()
    return [(statistics.median(own), min(own)) for own in times]


def told(times: tuple[float, float]) -> str:
    return f"{times[0]:7.2f} ({times[1]:7.2f})"


def run(name: str) -> dict:
    torch.manual_seed(0)
    torch._dynamo.reset()
    torch_backend.graphs.clear()
    module, calls = MODELS[name]()
    module.eval()

    def call(function, arguments):
        return function(*arguments.get("args", ()), **arguments.get("kwargs", {}))

    with torch.no_grad():
        settle(module, lambda module: call(module, calls[0]))
        compiled = torch.compile(module, backend="tessera")
        worst = largest(difference(call(compiled, arguments), call(module, arguments))
                        for arguments in calls)
        ours, theirs = milliseconds([lambda: call(compiled, calls[-1]),
                                     lambda: call(module, calls[-1])])
    refused = [graph.refused for graph in torch_backend.graphs if graph.refused]
    result = "wrong" if not worst <= TOLERANCE else "refused" if refused else "equal"
    return {"model": name, "result": result, "graphs": len(torch_backend.graphs) - len(refused),
            "refused": refused, "difference": worst, "ms": ours, "eager_ms": theirs,
            "compile_s": sum(graph.seconds for graph in torch_backend.graphs)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", action="append", default=[],
                        help="only those whose name has this text, or that of another --model")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--results", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    warnings.filterwarnings("ignore")
    rows = []
    for name in MODELS:
        if options.model and not any(text in name for text in options.model):
            continue
        row = run(name)
        rows.append(row)
        print(f"{name:26} {row['result']:8} {row['graphs']} graphs, {len(row['refused'])} refused, "
              f"difference {row['difference']:.0e}, {told(row['ms'])} ms, eager "
              f"{told(row['eager_ms'])} ms, compiled in {row['compile_s']:5.1f} s", flush=True)
        for reason in row["refused"]:
            print(f"    {reason}", flush=True)
        if options.results:
            options.results.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    bad = [row["model"] for row in rows if row["result"] != "equal"]
    print(f"{len(rows) - len(bad)} of {len(rows)} equal", *bad)
    return 1 if bad or not rows else 0


if __name__ == "__main__":
    raise SystemExit(main())
