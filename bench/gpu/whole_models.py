#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole models in float16 on one GPU: our library beside PyTorch's eager mode and torch.compile.

    whole_models.py --tessera COMMAND --out RESULT.md [--cases bert-large/1x128,vit_b_16/32]
                    [--rounds 5] [--no-compile] [--records FILE] [--keep FOLDER]
                    [--from fp32] [--beside OPTIONS] [--beside-tessera COMMAND]
                    [-- OPTIONS OF tessera compile]

With --records a second library, made with those measurements, runs beside the first. With
--from fp32 ours is made of the float32 model, for `-- --precision fp16`. With --beside OPTIONS the
second library is one that was compiled with these instead, with --beside-tessera COMMAND one of
another command, say an older one.

Weights are those of bench/models/*.skeleton.onnx filled by hydrate.py, in all engines. BERT's
attention mask is an input, with padding, and is applied. In each round the engines run one after
the other, each for a third of a second under load, timed by CUDA events around every call; a
result is the median over the rounds' medians. Inputs and outputs lie on the device. An error is
the worst of all outputs against PyTorch in float32 on the same inputs, relative to the output's
largest magnitude. "First" is what our first result takes: loading the library, uploading weights
and a run; all other times are warm. "GPU" is the device memory that is gone then, beside what the
library says it needs: weights and arena.

Needs torch, torchvision and transformers, which the project itself does not use.
"""
import argparse
import ctypes
import json
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import numpy as np
import onnx
import torch
from onnx import numpy_helper

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "abi"))
import ctypes_model as tessera  # noqa: E402

SECONDS = 0.33  # of one engine in one round
DEFAULT_OPTIONS = ["--target", "cuda", "--target", "cutlass"]


# ---- The models

def bert_large() -> torch.nn.Module:
    from transformers import BertConfig, BertModel
    return BertModel(BertConfig(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16,
                                intermediate_size=4096))


def gpt2() -> torch.nn.Module:
    from transformers import GPT2Config, GPT2Model
    return GPT2Model(GPT2Config(use_cache=False))


def vit_b_16() -> torch.nn.Module:
    from torchvision.models import vit_b_16 as build
    return build()


def resnet50() -> torch.nn.Module:
    from torch.fx.experimental.optimization import fuse
    from torchvision.models import resnet50 as build
    return fuse(build().eval())  # the exporter folded the batch norms, too


def bert_feeds(random, batch: int, seq: int) -> dict[str, np.ndarray]:
    lengths = random.integers(seq // 2, seq + 1, batch)
    lengths[0] = seq
    mask = (np.arange(seq)[None, :] < lengths[:, None]).astype(np.int64)
    ids = random.integers(0, 30522, (batch, seq))
    types = (np.arange(seq)[None, :] >= lengths[:, None] // 2).astype(np.int64) * mask
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}


def gpt2_feeds(random, batch: int, seq: int) -> dict[str, np.ndarray]:
    return {"input_ids": random.integers(0, 50257, (batch, seq))}


def image_feeds(random, batch: int) -> dict[str, np.ndarray]:
    return {"image": random.standard_normal((batch, 3, 224, 224)).astype(np.float32)}


@dataclass(frozen=True)
class Architecture:
    build: Callable
    feeds: Callable
    sizes: tuple[str, ...]  # what the numbers of a case are, as the skeleton names them
    keywords: bool = True   # of the module's inputs


ARCHITECTURES = {
    "bert-large": Architecture(bert_large, bert_feeds, ("batch", "seq")),
    "bert-large-sdpa": Architecture(bert_large, bert_feeds, ("batch", "seq")),
    "vit_b_16": Architecture(vit_b_16, image_feeds, ("batch",), keywords=False),
    "resnet50": Architecture(resnet50, image_feeds, ("batch",), keywords=False),
    "gpt2": Architecture(gpt2, gpt2_feeds, ("batch", "seq")),
}
CASES = ("bert-large/1x128,bert-large/1x384,bert-large/8x384,bert-large/32x128,bert-large/32x384,"
         "vit_b_16/1,vit_b_16/32,gpt2/1x64,gpt2/8x512,resnet50/1,resnet50/32")


def module_names(node: onnx.NodeProto):
    """The modules that a node's name may mean: "/model/a/mlp/mlp.0/MatMul" is of `a.mlp.0`."""
    path = node.name.strip("/").split("/")[:-1]
    path = path[1:] if path[:1] == ["model"] else path
    yield ".".join(path)
    yield ".".join(p for p, after in zip(path, [*path[1:], ""]) if not after.startswith(p + "."))


def torch_model(architecture: Architecture, path: Path) -> torch.nn.Module:
    """The exporter kept the names of parameters but for the weights of products that it
    transposed, and of convolutions that it folded norms into; those are found by the nodes that
    read them."""
    graph = onnx.load(str(path)).graph
    tensors = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    model = architecture.build()
    wanted = model.state_dict()
    state = {name: tensors[key].copy() for key in tensors
             if (name := key.removeprefix("model.")) in wanted}
    for node in graph.node:
        if node.op_type == "Conv":
            for module in module_names(node):
                for name, tensor in zip((f"{module}.weight", f"{module}.bias"), node.input[1:]):
                    if name in wanted and name not in state:
                        state[name] = tensors[tensor].copy()
        if node.op_type != "MatMul" or node.input[1] not in tensors:
            continue
        for module in module_names(node):
            for name in (f"{module}.weight", f"{module}.in_proj_weight"):
                if name in wanted and name not in state:
                    state[name] = tensors[node.input[1]].T.copy()
    state = {name: torch.from_numpy(value).reshape(wanted[name].shape)
             for name, value in state.items()}
    missing = [n for n in model.load_state_dict(state, strict=False).missing_keys
               if not n.endswith(("_ids", "attn.bias", "attn.masked_bias"))]
    if missing:
        raise RuntimeError(f"the ONNX file has no weights for {', '.join(missing)}")
    return model.eval().cuda()


def tensors_of(output) -> list[torch.Tensor]:
    return [output] if isinstance(output, torch.Tensor) else list(output.to_tuple())


# ---- Measuring

def medians(engines: dict, rounds: int) -> dict[str, list[float]]:
    """Of each engine the median time of a call in milliseconds, a round."""
    times = {name: [] for name in engines}
    for _ in range(rounds):
        for name, call in engines.items():
            call()
            torch.cuda.synchronize()
            events, end = [], time.perf_counter() + SECONDS
            while time.perf_counter() < end or len(events) < 5:
                pair = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
                pair[0].record()
                call()
                pair[1].record()
                events.append(pair)
                if len(events) % 16 == 0:
                    torch.cuda.synchronize()  # a full queue would time the waiting
            torch.cuda.synchronize()
            times[name].append(statistics.median(a.elapsed_time(b) for a, b in events))
    return times


def error(results: list[torch.Tensor], references: list[torch.Tensor]) -> float:
    return max(float((result.float() - reference).abs().max() / reference.abs().max())
               for result, reference in zip(results, references, strict=True))


def free_mb() -> float:
    torch.cuda.synchronize()
    return torch.cuda.mem_get_info()[0] / 1e6


class Case:
    def __init__(self, case: str, options, folder: Path):
        self.name, _, sizes = case.partition("/")
        self.architecture = ARCHITECTURES[self.name]
        self.sizes = [int(s) for s in sizes.split("x")]
        self.options, self.folder = options, folder
        self.stem = case.replace("/", "-")
        self.row = {"case": case}

    def hydrate(self, dtype: str) -> Path:
        path = self.folder / f"{self.stem}-{dtype}.onnx"
        if path.exists():
            return path
        dims = [a for name, size in zip(self.architecture.sizes, self.sizes)
                for a in ("--dim", f"{name}={size}")]
        subprocess.run([sys.executable, ROOT / "bench/tools/hydrate.py",
                        ROOT / f"bench/models/{self.name}.skeleton.onnx", path, "--dtype", dtype,
                        *dims], check=True, stdout=subprocess.DEVNULL)
        return path

    def compile_ours(self, path: Path, name: str) -> Path:
        library = self.folder / f"{self.stem}-{name}.so"
        tessera_command, options = self.options.libraries[name]
        command = [tessera_command, "compile", path, "-o", library, "--json", *options]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            raise RuntimeError(f"{' '.join(map(str, command))} failed")
        report = json.loads(done.stdout)
        self.row |= {f"compile_{name}_s": report["seconds"], "regions": len(report["placement"])}
        for what in ("library", "weight", "arena"):
            self.row[f"{what}_mb"] = report[f"{what}_bytes"] / 1e6
        return library

    def start_ours(self, feeds: dict, stream,
                   name: str) -> tuple[Callable, list[torch.Tensor]]:
        """A call of our library, after the first one, and its outputs."""
        path = self.compile_ours(self.hydrate(self.options.dtype), name)
        start = time.perf_counter()
        # An older library knows its own version of the interface; what is used here is the same.
        tessera.ABI_VERSION = ctypes.CDLL(str(path)).tessera_abi_version()
        library = tessera.Model(path)
        types = {tessera.FLOAT: {16: torch.half, 32: torch.float}, tessera.INT: {64: torch.int64}}
        tensor_type = lambda io: types[io.dtype.code][io.dtype.bits]
        inputs = {io.name.decode(): feeds[io.name.decode()].to(tensor_type(io))
                  for io in library.inputs}
        results = {io.name.decode(): torch.empty([io.shape[i] for i in range(io.ndim)],
                                                 dtype=tensor_type(io), device="cuda")
                   for io in library.outputs}
        ours = library.bind_on_stream(inputs, results, stream.cuda_stream)
        ours()
        stream.synchronize()
        self.row[f"first_{name}_ms"] = (time.perf_counter() - start) * 1e3
        return ours, list(results.values())

    def torch_engines(self, feeds: dict, reference: torch.nn.Module) -> dict[str, Callable]:
        eager = reference.half()
        half = {name: x.half() if x.is_floating_point() else x for name, x in feeds.items()}

        def call(module):
            if self.architecture.keywords:
                return lambda: module(**half)
            return lambda: module(*half.values())

        engines = {"eager": call(eager)}
        if not self.options.no_compile:
            start = time.perf_counter()
            engines["compiled"] = call(torch.compile(eager, mode="max-autotune"))
            engines["compiled"]()
            torch.cuda.synchronize()
            self.row["torch_compile_s"] = time.perf_counter() - start
        return engines

    def run(self) -> dict:
        arrays = self.architecture.feeds(np.random.default_rng(1), *self.sizes)
        feeds = {name: torch.from_numpy(value).cuda() for name, value in arrays.items()}
        stream = torch.cuda.Stream()
        with torch.no_grad(), torch.cuda.stream(stream):
            free = free_mb()
            ours, result = self.start_ours(feeds, stream, "ours")
            self.row["gpu_mb"] = free - free_mb()
            second = {}
            if "second" in self.options.libraries:
                second["second"], second_result = self.start_ours(feeds, stream, "second")
            model = torch_model(self.architecture, self.hydrate("fp32"))
            reference = [x.clone() for x in tensors_of(
                model(**feeds) if self.architecture.keywords else model(*feeds.values()))]
            engines = {"ours": ours} | second | self.torch_engines(feeds, model)
            if second:
                self.row["second_error"] = error(second_result, reference)
            self.row["error"] = error(result, reference)
            self.row["torch_error"] = error(tensors_of(engines["eager"]()), reference)
            for name, rounds in medians(engines, self.options.rounds).items():
                self.row[name] = statistics.median(rounds)
                self.row[f"{name}_spread"] = max(rounds) - min(rounds)
            self.row["error_after"] = error(result, reference)  # of the replayed graph
        return self.row


# ---- The report

def smi(fields: str) -> str:
    """Of the GPU that this runs on."""
    device = f"--id=GPU-{torch.cuda.get_device_properties(0).uuid}"
    return subprocess.run(["nvidia-smi", device, f"--query-gpu={fields}", "--format=csv,noheader"],
                          capture_output=True, text=True).stdout.strip()


COLUMNS = {  # heading: how a row's numbers are written
    "case": "{case}",
    "ours": "{ours:.3f} +- {ours_spread:.3f}",
    "the second": "{second:.3f} +- {second_spread:.3f}",
    "torch eager": "{eager:.3f} +- {eager_spread:.3f}",
    "torch.compile": "{compiled:.3f} +- {compiled_spread:.3f}",
    "error": "{error:.1e}",
    "of the second": "{second_error:.1e}",
    "of torch fp16": "{torch_error:.1e}",
    "first ms": "{first_ours_ms:.0f}",
    "compile s": "{compile_ours_s:.1f}",
    "torch.compile s": "{torch_compile_s:.0f}",
    "library MB": "{library_mb:.0f}",
    "weights MB": "{weight_mb:.1f}",
    "arena MB": "{arena_mb:.1f}",
    "GPU MB": "{gpu_mb:.0f}",
}


def cell(row: dict, text: str) -> str:
    try:
        return text.format(**row)
    except KeyError:
        return "-"


def report(rows: list[dict], options) -> str:
    lines = [
        f"# Whole models, float16, {time.strftime('%Y-%m-%d')}", "",
        f"{smi('name,driver_version')}; torch {torch.__version__}; clocks and power after the run "
        f"{smi('clocks.sm,power.draw,power.limit')}.", "",
        f"    bench/gpu/whole_models.py --rounds {options.rounds} "
        f"{shlex.join(['--', *options.compile])}",
        *([f"the second, by `{options.beside_name}`: "
           f"{shlex.join(options.libraries['second'][1])}"]
          if "second" in options.libraries else []), "",
        "Medians in milliseconds; after +- the distance between the slowest and fastest round.",
        "", "| " + " | ".join(COLUMNS) + " |", "|---" + "|---:" * (len(COLUMNS) - 1) + "|"]
    for row in rows:
        lines.append("| " + " | ".join(cell(row, text) for text in COLUMNS.values()) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tessera", default=str(ROOT / "build/tessera"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cases", default=CASES)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument("--from", dest="dtype", default="fp16", choices=["fp16", "fp32"])
    parser.add_argument("--records", help="measurements for a second library")
    parser.add_argument("--beside", help="other options of tessera compile for a second library")
    parser.add_argument("--beside-tessera", help="another command for a second library")
    parser.add_argument("--beside-name", help="what the report calls that command")
    parser.add_argument("--keep", type=Path,
                        help="folder where models and libraries stay, and are found")
    parser.add_argument("compile", nargs="*", help="options of tessera compile, after --")
    options = parser.parse_args()
    options.compile = options.compile or DEFAULT_OPTIONS
    options.libraries = {"ours": (options.tessera, options.compile)}
    options.beside_name = options.beside_name or options.beside_tessera or "tessera"
    if options.records or options.beside or options.beside_tessera:
        second = shlex.split(options.beside or "") or options.compile
        if options.records:
            second = [*options.compile, "--records", options.records, "--no-measure"]
        options.libraries["second"] = (options.beside_tessera or options.tessera, second)
    rows, failed = [], False
    with tempfile.TemporaryDirectory() as temporary:
        for case in options.cases.split(","):
            if case.partition("/")[0] not in ARCHITECTURES:
                parser.error(f"--cases: {case!r} is none of {', '.join(ARCHITECTURES)} with /SIZES")
            try:
                rows.append(Case(case, options, options.keep or Path(temporary)).run())
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
