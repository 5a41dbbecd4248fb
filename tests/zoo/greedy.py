#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generates with the language models of the zoo, and compares the tokens with onnxruntime's.

    greedy.py [--tessera PATH] [--steps N] [--configuration all,native] [NAME or FILE.onnx]...

Tokens must be those that onnxruntime computes in float32. In float16 a logit may be as far off as
the zoo allows, each step being told onnxruntime's tokens. How many tokens agree with the file as
onnxruntime runs it, which may round the operands of products to 8 bits, is printed.
"""
import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tests" / "abi")]

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import ctypes_model as tessera  # noqa: E402

from hydrate import hydrate, skeleton_path  # noqa: E402
from running.compare import ALLOWED  # noqa: E402
from running.configurations import CPU  # noqa: E402
from running.generate import generate, past_symbols  # noqa: E402
from running.manifest import read_manifest  # noqa: E402
from running.reference import Reference, session_of  # noqa: E402

ROOM = 128  # of caches that do not grow, though their length is open


def library_of(tessera_path: str, model: Path, symbols: list[str], configuration: str) -> Path:
    library = model.with_suffix(".so")
    dims = [f"--dim={s}=0.." for s in symbols]
    subprocess.run([tessera_path, "compile", str(model), "-o", str(library), *dims,
                    *CPU[configuration]], check=True, stdout=subprocess.DEVNULL)
    return library


def compare(library: Path, model: onnx.ModelProto, reference: Reference, steps: int,
            room: int) -> tuple[str, str]:
    """A line of what was found, and what is wrong."""
    wanted, logits = generate(reference.exact, model, steps, room)
    own = session_of(model)
    usual, _ = generate(lambda f: dict(zip(reference.outputs, own.run(reference.outputs, f))),
                        model, steps, room)
    with tessera.Model(library, threads=1) as compiled:
        found, _ = generate(compiled.run, model, steps, room)
        _, told = generate(compiled.run, model, steps, room, given=wanted)
    off = float(np.abs(told - logits).max() / np.abs(logits).max())
    line = (f"{sum(a == b for a, b in zip(found, wanted))} of {steps} tokens as in float32, "
            f"{sum(a == b for a, b in zip(found, usual))} as onnxruntime's; logits {off:.1e} off")
    limit = ALLOWED["float16" if reference.narrow else "float32"]
    wrong = off > limit or (not reference.narrow and found != wanted)
    return line, f"more than {limit}, or other tokens" if wrong else ""


def examine(name: str, options: argparse.Namespace, folder: Path) -> bool:
    is_file = name.endswith(".onnx")
    path = Path(name) if is_file else folder / f"{name}.onnx"
    model = onnx.load(path) if is_file else hydrate(skeleton_path(name))
    onnx.save(model, folder / "model.onnx")
    symbols, good = past_symbols(model), True
    has_lengths = any(n.op_type == "GroupQueryAttention" for n in model.graph.node)
    reference = Reference(model)
    for configuration in options.configuration:
        library = library_of(options.tessera, folder / "model.onnx", symbols, configuration)
        for room in (0, ROOM) if symbols and has_lengths else (0,):
            line, wrong = compare(library, model, reference, options.steps, room)
            print(f"{name} ({configuration}{', fixed cache' if room else ''}): {line}"
                  + (f": {wrong}" if wrong else ""), flush=True)
            good = good and not wrong
    return good


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--tessera", default=str(HERE.parents[1] / "build/release/bin/tessera"))
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--configuration", type=lambda s: s.split(","), default=["all"])
    options = parser.parse_args()
    names = options.names or [m["name"] for m in read_manifest()
                              if m["family"] == "language_models"]
    failed = 0
    for name in names:
        with tempfile.TemporaryDirectory(prefix="tessera-greedy-") as folder:
            failed += not examine(name, options, Path(folder))
    print(f"{len(names)} models, {failed} wrong")
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
