#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measured placement of whole models in float16 on one GPU: what it chooses, what it gains.

    collage_models.py --tessera COMMAND --out RESULT.md [--models resnet50/32,convnext_tiny/32]
                      [--rounds 5] [--no-compile] [--records FOLDER] [-- OPTIONS OF tessera compile]

Models are torchvision's configurations with random weights and so many images, exported in float16.
`tessera compile --partition collage` measures its plans itself, all in turns: its table has the
searched plan, the greedy one, each back end's own and generated code, and what their regions add up
to. The library that it writes then runs in turns with the default one (`--target cuda --target
cutlass`) and with torch.compile in max-autotune with channels_last, as in whole_models.py. An error
is the worst of all outputs against PyTorch in float32, as a share of the largest.

Needs torch, torchvision and onnx, which the project itself does not use.
"""
import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

import torch

from whole_models import error, medians, smi, tessera

TARGETS = ["--target", "cuda", "--target", "cutlass", "--target", "cublas", "--target", "cudnn"]
DEFAULT = ["--target", "cuda", "--target", "cutlass"]
MODELS = ("resnet50/32,resnext50_32x4d/32,convnext_tiny/32,efficientnet_b0/32,densenet121/32,"
          "swin_t/32,mobilenet_v2/32,mobilenet_v2/1,vit_b_16/32,resnet50/1")
SIDE = 224


def compiled(options, model: Path, name: str, more: list[str]) -> tuple[Path, dict]:
    library = model.with_name(f"{model.stem}-{name}.so")
    start = time.perf_counter()
    done = subprocess.run([options.tessera, "compile", model, "-o", library, "--json", *more],
                          stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise RuntimeError(f"{model.name} is not compiled with {' '.join(more)}")
    return library, json.loads(done.stdout) | {"wall_s": time.perf_counter() - start}


def started(library: Path, image: torch.Tensor, stream):
    """A call of our library after the first one, and its result."""
    model = tessera.Model(library)
    output = model.outputs[0]
    result = torch.empty([output.shape[i] for i in range(output.ndim)], dtype=torch.half,
                         device="cuda")
    call = model.bind_on_stream({model.inputs[0].name.decode(): image},
                                {output.name.decode(): result}, stream.cuda_stream)
    call()
    stream.synchronize()
    return call, result


def run(case: str, options, folder: Path) -> dict:
    import torchvision
    name, _, images = case.partition("/")
    torch.manual_seed(1)
    model = torchvision.models.get_model(name, weights=None).eval().cuda()
    image = torch.randn(int(images), 3, SIDE, SIDE, device="cuda")
    path = folder / f"{name}-{images}.onnx"
    row = {"case": case}
    with torch.no_grad():
        wanted = [model(image).clone()]
        half, image = model.half(), image.half()
        torch.onnx.export(half, (image,), str(path), opset_version=17, dynamo=False)
        more = ["--partition", "collage", *options.compile]
        if options.records:
            more += ["--records", str(options.records / f"{name}-{images}.sqlite")]
        library, report = compiled(options, path, "collage", more)
        row |= {"compile_s": report["wall_s"], "collage": report["collage"]}
        default, _ = compiled(options, path, "default", DEFAULT)
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            ours, result = started(library, image, stream)
            others, other = started(default, image, stream)
            engines = {"ours": ours, "default": others}
            if not options.no_compile:
                last = half.to(memory_format=torch.channels_last)
                lying = image.contiguous(memory_format=torch.channels_last)
                tuned = torch.compile(last, mode="max-autotune")
                engines["compiled"] = lambda: tuned(lying)
                start = time.perf_counter()
                row["torch_error"] = error([engines["compiled"]()], wanted)
                row["torch_compile_s"] = time.perf_counter() - start
            row["error"], row["default_error"] = error([result], wanted), error([other], wanted)
            for engine, rounds in medians(engines, options.rounds).items():
                row[engine] = statistics.median(rounds)
                row[f"{engine}_spread"] = max(rounds) - min(rounds)
            row["error_after"] = error([result], wanted)  # of the replayed graph
    return row


def plan_text(plan: dict) -> str:
    if "why_not" in plan:
        return plan["why_not"]
    text = f"{plan.get('time_us', 0):.1f} us"
    if "predicted_us" in plan and plan.get("time_us"):
        text += f", regions {plan['predicted_us']:.1f} us"
    return text


def report(rows: list[dict], options) -> str:
    lines = [
        f"# Measured placement, float16, {time.strftime('%Y-%m-%d')}", "",
        f"{smi('name,driver_version')}; torch {torch.__version__}; clocks and power after the run "
        f"{smi('clocks.sm,power.draw,power.limit')}.", "",
        f"    bench/gpu/collage_models.py --rounds {options.rounds} -- {' '.join(options.compile)}",
        "", "Medians in milliseconds; after +- the distance between the slowest and fastest round.",
        "",
        "| model/images | collage | default | torch.compile | error | of default | of torch | "
        "compile s | programs, failed |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|"]
    for row in rows:
        time_of = lambda e: (f"{row[e]:.3f} +- {row[e + '_spread']:.3f}" if e in row else "-")
        lines.append(
            f"| {row['case']} | {time_of('ours')} | {time_of('default')} | {time_of('compiled')} | "
            f"{row['error']:.1e} | {row['default_error']:.1e} | {row.get('torch_error', 0):.1e} | "
            f"{row['compile_s']:.0f} | {row['collage']['programs']}, {row['collage']['failed']} |")
    for row in rows:
        lines += ["", f"{row['case']}, the plans that raced (-> is written):", ""]
        lines += [f"* {'-> ' if plan['chosen'] else ''}{plan['plan']}: {plan_text(plan)}"
                  for plan in row["collage"]["plans"]]
        who = {}
        for region in row["collage"]["regions"]:
            chosen = region["chosen"]
            count, us = who.get(chosen["backend"], (0, 0))
            who[chosen["backend"]] = (count + 1, us + chosen.get("time_us", 0))
        lines += ["", "searched: " + ", ".join(f"{name} {count} regions of {us:.0f} us"
                                               for name, (count, us) in sorted(who.items()))]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tessera", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--models", default=MODELS)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument("--records", type=Path, help="folder of a file a model, kept")
    parser.add_argument("compile", nargs="*", help="options of tessera compile, after --")
    options = parser.parse_args()
    options.compile = options.compile or TARGETS
    rows, failed = [], False
    with tempfile.TemporaryDirectory() as temporary:
        for case in options.models.split(","):
            try:
                rows.append(run(case, options, Path(temporary)))
            except Exception:  # the others are worth having
                traceback.print_exc()
                failed = True
                continue
            options.out.write_text(report(rows, options))
            print(json.dumps(rows[-1]), flush=True)
            torch._dynamo.reset()
            torch.cuda.empty_cache()
    sys.exit(failed)


if __name__ == "__main__":
    main()
