#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measured placement of whole models in float16 on one GPU: what it chooses, what it gains.

    collage_models.py --tessera COMMAND --out RESULT.md [--models resnet50/32,bert-large/1x128]
                      [--rounds 5] [--no-compile] [--records FOLDER] [--libraries FOLDER]
                      [--prepare | --await] [-- OPTIONS OF tessera compile]

Models are those of whole_models.py, torchvision's configurations and those of nets.py, with random
weights and so many images (or sequences x tokens), in float16.
`tessera compile --partition collage` measures its plans itself, all in turns: its table has the
searched plan, the greedy one, each back end's own and generated code, and what their regions add up
to. The library that it writes then runs in turns with the default one (`--target cuda --target
cutlass`) and with torch.compile in max-autotune with channels_last, as in whole_models.py. An error
is the worst of all outputs against PyTorch in float32, as a share of the largest.

What compilers take can be spent on several GPUs: `--prepare` does nothing but to leave our
libraries in --libraries, and a command with `--await`, on another GPU of the same kind, has
torch.compile choose its kernels meanwhile and then takes them from there.

Needs torch, torchvision, transformers and onnx, which the project itself does not use.
"""
import argparse
import fcntl
import functools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Callable

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
import nets  # noqa: E402
from whole_models import ARCHITECTURES, Case, error, medians, smi, tensors_of, tessera, torch_model

TARGETS = ["--target", "cuda", "--target", "cutlass", "--target", "cublas", "--target", "cudnn"]
MODELS = ("resnet50/32,resnext50_32x4d/32,convnext_tiny/32,efficientnet_b0/32,densenet121/32,"
          "swin_t/32,mobilenet_v2/32,mobilenet_v2/1,vit_b_16/32,resnet50/1,generator/32,"
          "cell_net/32,bert-large/1x128,bert-large/1x384,bert-large/8x384,bert-large/32x128,"
          "bert-large/32x384,gpt2/1x64,gpt2/8x512")
SIDE = 224
OURS = {"generator": (nets.Generator, (100, 1, 1)), "cell_net": (nets.CellNet, (3, SIDE, SIDE))}


@dataclass(frozen=True)
class Prepared:
    """A model as a file in float16, its inputs on the device by name, PyTorch's results in float32,
    and PyTorch's calls in float16: as the model is, and compiled."""
    path: Path
    feeds: dict[str, torch.Tensor]
    wanted: list[torch.Tensor]
    compile: Callable[[], Callable]


def with_norms_of(model: torch.nn.Module, image: torch.Tensor) -> None:
    """Batch norms get the means and variances of these images: with those that they begin with,
    what a deep net of random weights computes vanishes, and nothing could be compared."""
    norms = [m for m in model.modules() if isinstance(m, torch.nn.modules.batchnorm._BatchNorm)]
    for norm in norms:
        norm.momentum = 1.0
        norm.train()
    model(image)
    for norm in norms:
        norm.eval()


def prepared_image_net(name: str, images: int, folder: Path) -> Prepared:
    torch.manual_seed(1)
    if name in OURS:
        build, shape = OURS[name]
        model = build()
    else:
        import torchvision
        model, shape = torchvision.models.get_model(name, weights=None), (3, SIDE, SIDE)
    model = model.eval().cuda()
    image = torch.randn(images, *shape, device="cuda")
    with_norms_of(model, image)
    path = folder / f"{name}-{images}.onnx"
    wanted = [model(image).clone()]
    half, image = model.half(), image.half()
    torch.onnx.export(half, (image,), str(path), input_names=["image"], opset_version=17,
                      dynamo=False)

    def compile_it():
        last = half.to(memory_format=torch.channels_last)
        lying = image.contiguous(memory_format=torch.channels_last)
        tuned = torch.compile(last, mode="max-autotune")
        return lambda: tuned(lying)

    return Prepared(path, {"image": image}, wanted, compile_it)


def prepared_skeleton(case: str, folder: Path) -> Prepared:
    of = Case(case, SimpleNamespace(), folder)
    keywords = of.architecture.keywords
    call = lambda module, feeds: module(**feeds) if keywords else module(*feeds.values())
    arrays = of.architecture.feeds(np.random.default_rng(1), *of.sizes)
    feeds = {name: torch.from_numpy(value).cuda() for name, value in arrays.items()}
    model = torch_model(of.architecture, of.hydrate("fp32"))
    wanted = [x.clone() for x in tensors_of(call(model, feeds))]
    half = {name: x.half() if x.is_floating_point() else x for name, x in feeds.items()}

    def compile_it():
        tuned = torch.compile(model.half(), mode="max-autotune")
        return lambda: call(tuned, half)

    return Prepared(of.hydrate("fp16"), half, wanted, compile_it)


def compiled(options, model: Path, name: str, more: list[str]) -> tuple[Path, dict]:
    library = (options.libraries or model.parent) / f"{model.stem}-{name}.so"
    kept = library.with_suffix(".json")
    while options.awaits and not kept.exists():
        time.sleep(1)
    if kept.exists():
        return library, json.loads(kept.read_text())
    start = time.perf_counter()
    done = subprocess.run([options.tessera, "compile", model, "-o", library, "--json", *more],
                          stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise RuntimeError(f"{model.name} is not compiled with {' '.join(more)}")
    report = json.loads(done.stdout) | {"wall_s": time.perf_counter() - start}
    whole = kept.with_suffix(".part")
    whole.write_text(json.dumps(report))
    whole.rename(kept)
    return library, report


def default_targets(given: list[str]) -> list[str]:
    """Those of the default plan, with the options that they were given."""
    return [word for option, target in zip(given, given[1:])
            if option == "--target" and target.split()[0] in ("cuda", "cutlass")
            for word in (option, target)]


@contextmanager
def turn_to_measure():
    """As the compiler has it (src/tune/turn_to_measure.h): other models may be compiled beside
    this one."""
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(os.environ.get("TESSERA_CACHE_DIR") or Path(caches, "tessera"))
    folder.mkdir(parents=True, exist_ok=True)
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0]
    # The GPU as its index: a name of another kind is not what the compiler calls it.
    name = "measuring" if first in ("", "0") else f"measuring-{int(first)}"
    with open(folder / name, "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def benchmarks_take_turns() -> None:
    """What torch.compile times to choose between kernels waits for its turn, too; its code is
    compiled before that."""
    from torch._inductor.runtime import benchmarking
    waiting = False  # a benchmarker may call another

    def alone(benchmark):
        @functools.wraps(benchmark)
        def call(benchmarker, kernel, *arguments, **keywords):
            nonlocal waiting
            if waiting:
                return benchmark(benchmarker, kernel, *arguments, **keywords)
            kernel()
            torch.cuda.synchronize()
            waiting = True
            try:
                with turn_to_measure():
                    return benchmark(benchmarker, kernel, *arguments, **keywords)
            finally:
                waiting = False
        return call

    for kind in (benchmarking.TritonBenchmarker, benchmarking.InductorBenchmarker):
        if "benchmark_gpu" in vars(kind):
            kind.benchmark_gpu = alone(kind.benchmark_gpu)


def started(library: Path, feeds: dict, stream):
    """A call of our library after the first one, and its results."""
    model = tessera.Model(library)
    results = {io.name.decode(): torch.empty([io.shape[i] for i in range(io.ndim)],
                                             dtype=torch.half, device="cuda")
               for io in model.outputs}
    inputs = {io.name.decode(): feeds[io.name.decode()] for io in model.inputs}
    call = model.bind_on_stream(inputs, results, stream.cuda_stream)
    call()
    stream.synchronize()
    return call, list(results.values())


def run(case: str, options, folder: Path) -> dict | None:
    """The row of a case; nothing where it is only prepared."""
    name, _, sizes = case.partition("/")
    row = {"case": case}
    with torch.no_grad():
        model = (prepared_skeleton(case, folder) if name in ARCHITECTURES
                 else prepared_image_net(name, int(sizes), folder))
        engines = {}
        if not options.no_compile and not options.prepare:
            start = time.perf_counter()
            engines["compiled"] = model.compile()
            row["torch_error"] = error(tensors_of(engines["compiled"]()), model.wanted)
            row["torch_compile_s"] = time.perf_counter() - start
        torch.cuda.empty_cache()  # compilers measure beside this process
        more = ["--partition", "collage", *options.compile]
        if options.records:
            more += ["--records", str(options.records / f"{case.replace('/', '-')}.sqlite")]
        library, report = compiled(options, model.path, "collage", more)
        row |= {"compile_s": report["wall_s"], "collage": report["collage"],
                "stages": report["stages"]}
        default, _ = compiled(options, model.path, "default", default_targets(options.compile))
        if options.prepare:
            return None
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            ours, results = started(library, model.feeds, stream)
            others, other_results = started(default, model.feeds, stream)
            engines = {"ours": ours, "default": others} | engines
            row["error"] = error(results, model.wanted)
            row["default_error"] = error(other_results, model.wanted)
            with turn_to_measure():
                times = medians(engines, options.rounds)
            for engine, rounds in times.items():
                row[engine] = statistics.median(rounds)
                row[f"{engine}_spread"] = max(rounds) - min(rounds)
            row["error_after"] = error(results, model.wanted)  # of the replayed graph
    return row


def plan_text(plan: dict) -> str:
    if "why_not" in plan:
        return plan["why_not"]
    text = f"{plan.get('time_us', 0):.1f} us"
    if "predicted_us" in plan and plan.get("time_us"):
        text += f", regions {plan['predicted_us']:.1f} us"
    return text


def gain(row: dict) -> float | None:
    """Over the fastest plan of one back end, or of generated code alone, in the compiler's race."""
    alone = [p["time_us"] for p in row["collage"]["plans"]
             if p["plan"].endswith(" alone") and "time_us" in p]
    chosen = [p["time_us"] for p in row["collage"]["plans"] if p["chosen"] and "time_us" in p]
    return min(alone) / chosen[0] if alone and chosen else None


def summary(rows: list[dict]) -> list[str]:
    def mean(ratios):
        ratios = [r for r in ratios if r]
        return (f"{statistics.geometric_mean(ratios):.3f} (of {len(ratios)} models, least "
                f"{min(ratios):.3f})" if ratios else "-")
    return ["Geometric means of the gain:", "",
            f"* over the fastest back end alone: {mean([gain(r) for r in rows])}",
            f"* over the default: {mean([r['default'] / r['ours'] for r in rows])}",
            f"* over torch.compile: "
            f"{mean([r['compiled'] / r['ours'] for r in rows if 'compiled' in r])}"]


def report(rows: list[dict], options) -> str:
    lines = [
        f"# Measured placement, float16, {time.strftime('%Y-%m-%d')}", "",
        f"{smi('name,driver_version')}; torch {torch.__version__}; clocks and power after the run "
        f"{smi('clocks.sm,power.draw,power.limit')}.", "",
        f"    bench/gpu/collage_models.py --rounds {options.rounds} -- "
        f"{' '.join(options.compile)}",
        "", "Medians in milliseconds; after +- the distance between the slowest and fastest round.",
        "",
        "| model/images | collage | default | torch.compile | over one alone | error | of default "
        "| of torch | compile s | programs, failed |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"]
    for row in rows:
        time_of = lambda e: (f"{row[e]:.3f} +- {row[e + '_spread']:.3f}" if e in row else "-")
        lines.append(
            f"| {row['case']} | {time_of('ours')} | {time_of('default')} | {time_of('compiled')} | "
            f"{gain(row) or 0:.3f} | {row['error']:.1e} | {row['default_error']:.1e} | "
            f"{row.get('torch_error', 0):.1e} | "
            f"{row['compile_s']:.0f} | {row['collage']['programs']}, {row['collage']['failed']} |")
    lines += ["", *summary(rows)]
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
    parser.add_argument("--out", type=Path, help="needed without --prepare")
    parser.add_argument("--models", default=MODELS)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument("--records", type=Path, help="folder of a file a model, kept")
    parser.add_argument("--libraries", type=Path, help="folder of our libraries, kept")
    parser.add_argument("--prepare", action="store_true", help="only leave libraries there")
    parser.add_argument("--await", dest="awaits", action="store_true", help="until they are there")
    parser.add_argument("compile", nargs="*", help="options of tessera compile, after --")
    options = parser.parse_args()
    options.compile = options.compile or TARGETS
    if not (options.out or options.prepare):
        parser.error("the result is written to --out")
    if (options.prepare or options.awaits) and not options.libraries:
        parser.error("libraries are kept in --libraries")
    for folder in filter(None, (options.records, options.libraries)):
        folder.mkdir(parents=True, exist_ok=True)
    if not options.no_compile:
        benchmarks_take_turns()
    rows, failed = [], False
    with tempfile.TemporaryDirectory() as temporary:
        for case in options.models.split(","):
            try:
                row = run(case, options, Path(temporary))
            except Exception:  # the others are worth having
                traceback.print_exc()
                failed = True
                continue
            if row:
                rows.append(row)
                options.out.write_text(report(rows, options))
                print(json.dumps(row), flush=True)
            torch._dynamo.reset()
            torch.cuda.empty_cache()
    sys.exit(failed)


if __name__ == "__main__":
    main()
