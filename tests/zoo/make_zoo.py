#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the zoo: models/NAME.onnx.gz, skeletons, and their lines of manifest.json.

    make_zoo.py [--family NAME] [--model TEXT] [--list]

Needs what CI does not have: torch, torchvision, torchaudio, transformers, diffusers, timm, onnx,
onnxscript, onnxruntime, onnxconverter-common, scikit-learn, skl2onnx (requirements.txt beside this
has the versions). A model is kept only if onnxruntime runs it, filled from its skeleton, at both
sets of sizes with finite results.
"""
import argparse
import gzip
import importlib
import sys
import tempfile
import traceback
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from hydrate import MODELS, hydrate, skeleton_path  # noqa: E402
from making.export import export, sixteen_bits  # noqa: E402
from making.model import Model, Variant, parse_variant, shape_of  # noqa: E402
from making.skeleton import strip  # noqa: E402
from making.variants import change  # noqa: E402
from running.manifest import FAMILIES, read_manifest, write_manifest  # noqa: E402
from running.reference import Reference  # noqa: E402
from running.values import make_value  # noqa: E402


def describe(model: Model, variant: Variant, kept: list[str]) -> dict:
    narrow = sixteen_bits(variant)
    inputs = {}
    for name, given in model.inputs.items():
        if name not in kept:  # the exporter found that nothing depends on it
            continue
        dtype = narrow if narrow and given.dtype == "float32" else given.dtype
        described = {"kind": given.kind, "dtype": dtype}
        if given.kind == "integers":
            described |= {"low": given.low, "high": given.high}
        sizes = model.sizes if variant.is_open else (model.sizes[0],) * 2
        inputs[name] = described | {"shapes": [shape_of(given, s) for s in sizes]}
    return inputs


def check(skeleton: bytes, inputs: dict) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.onnx.gz"
        path.write_bytes(skeleton)
        reference = Reference(hydrate(path))
    for index in range(2):
        feeds = {n: make_value(n, d, d["shapes"][index], index) for n, d in inputs.items()}
        for name, value in reference.exact(feeds).items():
            if value.dtype.kind == "f" and np.isnan(value).any():
                raise ValueError(f"{name} has NaN")
            if value.dtype.kind == "f" and value.size and np.abs(value).max() > 1e6:
                raise ValueError(f"{name} has {np.abs(value).max():.3g}")


def make(family: str, model: Model, text: str) -> dict:
    variant = parse_variant(text)
    exported = export(model, variant)
    inputs = describe(model, variant, [i.name for i in exported.graph.input])
    for name in variant.changes:
        shapes = {n: d["shapes"][0] for n, d in inputs.items()}
        exported = change(exported, name, inputs, shapes)
    stripped = strip(exported, f"{variant.exporter}, opset {variant.opset}")
    skeleton = gzip.compress(stripped.SerializeToString(deterministic=True), mtime=0)
    check(skeleton, inputs)
    name = f"{model.name}.{text}"
    MODELS.mkdir(exist_ok=True)
    skeleton_path(name).write_bytes(skeleton)
    return {"name": name, "family": family, "exporter": variant.exporter, "opset": variant.opset,
            "open": variant.is_open, "variant": ", ".join(variant.changes) or "float32",
            "inputs": inputs}


def name_of(work: tuple[str, Model, str]) -> str:
    return f"{work[1].name}.{work[2]}"


def work(families: list[str]) -> list[tuple[str, Model, str]]:
    """First one variant of each model, in turns of the families."""
    found = []
    for family in families:
        models = importlib.import_module(f"families.{family}").MODELS
        for place, model in enumerate(models):
            for turn, text in enumerate(model.variants):
                found.append((turn, place, len(found), (family, model, text)))
    return [w for *_, w in sorted(found, key=lambda f: f[:3])]


def try_to_make(family: str, model: Model, text: str) -> bool:
    name = f"{model.name}.{text}"
    try:
        entry = make(family, model, text)
    except Exception as problem:  # exporters raise anything
        print(f"FAILED {name}: {type(problem).__name__} {str(problem)[:300]}", flush=True)
        traceback.print_exc(limit=-3)
        return False
    write_manifest([m for m in read_manifest() if m["name"] != name] + [entry])
    print(f"{family} {name}: {skeleton_path(name).stat().st_size / 1e3:.0f} kB", flush=True)
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", action="append")
    parser.add_argument("--model", default="", help="only those whose name contains this")
    parser.add_argument("--missing", action="store_true", help="only those that are not there")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    wanted = [w for w in work(options.family or FAMILIES) if options.model in name_of(w)]
    if options.missing:
        there = {m["name"] for m in read_manifest()}
        wanted = [w for w in wanted if name_of(w) not in there]
    if options.list:
        print("\n".join(name_of(w) for w in wanted))
        return
    failed = sum(not try_to_make(*w) for w in wanted)
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
