#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""BERT-large in float16 on one GPU: our library beside PyTorch's eager mode and torch.compile.

    bert.py --tessera COMMAND --out RESULT.md [--cases 1x128,32x384] [--rounds 5] [--no-compile]
            [-- OPTIONS OF tessera compile]

Weights are those of bench/models/bert-large.skeleton.onnx filled by hydrate.py, in all engines. The
attention mask is an input, with padding, and is applied. In each round the engines run one after
the other, each for a third of a second under load, timed by CUDA events around every call; a
result is the median over all calls of the rounds' medians. Inputs and outputs lie on the device.
Errors are those of the last hidden state against PyTorch in float32 on the same inputs, relative to
its largest magnitude.

Needs torch and transformers, which the project itself does not use.
"""
import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from transformers import BertConfig, BertModel

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
import tessera  # noqa: E402

SECONDS = 0.33  # of one engine in one round
LARGE = BertConfig(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16,
                   intermediate_size=4096)


def hydrate(case: str, folder: Path, dtype: str) -> Path:
    batch, seq = case.split("x")
    path = folder / f"bert-large-{case}-{dtype}.onnx"
    subprocess.run([sys.executable, ROOT / "bench/tools/hydrate.py",
                    ROOT / "bench/models/bert-large.skeleton.onnx", path, "--dtype", dtype,
                    "--dim", f"batch={batch}", "--dim", f"seq={seq}"],
                   check=True, stdout=subprocess.DEVNULL)
    return path


def torch_model(path: Path) -> BertModel:
    """The exporter kept the names of parameters but for the weights of products, which it
    transposed; those are found by the nodes that read them."""
    graph = onnx.load(str(path)).graph
    tensors = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    state = {name.removeprefix("model."): torch.from_numpy(value.copy())
             for name, value in tensors.items() if name.startswith("model.")}
    for node in graph.node:
        if node.op_type != "MatMul" or node.input[1] not in tensors:
            continue
        name = node.name.removeprefix("/model/").removesuffix("/MatMul").replace("/", ".")
        state[f"{name}.weight"] = torch.from_numpy(tensors[node.input[1]].T.copy())
    model = BertModel(LARGE)
    missing = [n for n in model.load_state_dict(state, strict=False).missing_keys
               if not n.endswith("_ids")]
    if missing:
        sys.exit(f"bert.py: the ONNX file has no weights for {', '.join(missing)}")
    return model.eval().cuda()


def make_inputs(case: str) -> dict[str, torch.Tensor]:
    batch, seq = map(int, case.split("x"))
    random = np.random.default_rng(1)
    lengths = random.integers(seq // 2, seq + 1, batch)
    lengths[0] = seq
    mask = (np.arange(seq)[None, :] < lengths[:, None]).astype(np.int64)
    ids = random.integers(0, LARGE.vocab_size, (batch, seq))
    types = (np.arange(seq)[None, :] >= lengths[:, None] // 2).astype(np.int64) * mask
    arrays = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
    return {name: torch.from_numpy(value).cuda() for name, value in arrays.items()}


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


def error(result: torch.Tensor, reference: torch.Tensor) -> float:
    return float((result.float() - reference).abs().max() / reference.abs().max())


class Case:
    def __init__(self, case: str, options, folder: Path):
        self.case, self.options, self.folder = case, options, folder
        self.feeds = make_inputs(case)
        self.row = {"case": case}

    def compile_ours(self, path: Path):
        library = self.folder / f"bert-{self.case}.so"
        command = [self.options.tessera, "compile", path, "-o", library, "--json",
                   *(self.options.compile or ["--target", "cuda", "--target", "cutlass"])]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            sys.exit(f"bert.py: {' '.join(map(str, command))} failed")
        report = json.loads(done.stdout)
        self.row["compile_s"] = report["seconds"]
        self.row["library_mb"] = report["library_bytes"] / 1e6
        self.row["weights_mb"] = report["weight_bytes"] / 1e6
        self.row["kernels"] = sum(1 for _ in report["placement"])
        return tessera.Model(library)

    def run(self) -> dict:
        model = self.compile_ours(hydrate(self.case, self.folder, "fp16"))
        stream = torch.cuda.Stream()
        hidden = torch.empty((*self.feeds["input_ids"].shape, 1024), dtype=torch.half,
                             device="cuda")
        pooled = torch.empty((hidden.shape[0], 1024), dtype=torch.half, device="cuda")
        ours = model.bind_on_stream(self.feeds, {"last_hidden_state": hidden,
                                                 "pooler_output": pooled}, stream.cuda_stream)
        with torch.no_grad(), torch.cuda.stream(stream):
            ours()
            torch.cuda.synchronize()
            reference_model = torch_model(hydrate(self.case, self.folder, "fp32"))
            reference = reference_model(**self.feeds).last_hidden_state
            eager = reference_model.half()
            self.row["error"] = error(hidden, reference)
            self.row["torch_error"] = error(eager(**self.feeds).last_hidden_state, reference)
            engines = {"ours": ours, "eager": lambda: eager(**self.feeds)}
            if not self.options.no_compile:
                start = time.perf_counter()
                compiled = torch.compile(eager, mode="max-autotune")
                compiled(**self.feeds)
                torch.cuda.synchronize()
                self.row["torch_compile_s"] = time.perf_counter() - start
                engines["compiled"] = lambda: compiled(**self.feeds)
            for name, rounds in medians(engines, self.options.rounds).items():
                self.row[name] = statistics.median(rounds)
                self.row[f"{name}_spread"] = max(rounds) - min(rounds)
        self.row["memory_mb"] = (torch.cuda.mem_get_info()[1] - torch.cuda.mem_get_info()[0]) / 1e6
        return self.row


def smi(fields: str) -> str:
    return subprocess.run(["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader"],
                          capture_output=True, text=True).stdout.strip()


def report(rows: list[dict], options) -> str:
    number = lambda row, key, form: format(row[key], form) if key in row else "-"
    lines = [
        f"# BERT-large, float16, {time.strftime('%Y-%m-%d')}", "",
        f"{smi('name,driver_version')}; torch {torch.__version__}; clocks and power after the run "
        f"{smi('clocks.sm,power.draw,power.limit')}.", "",
        f"    bench/gpu/bert.py --rounds {options.rounds} "
        f"{' '.join(['--', *options.compile]) if options.compile else ''}".rstrip(), "",
        "Medians in milliseconds; behind +- the distance between the slowest and fastest round.",
        "",
        "| batch x seq | ours | torch eager | torch.compile | error | torch fp16 error | "
        "compile s | torch.compile s | library MB | weights MB |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"]
    for row in rows:
        times = [f"{number(row, n, '.3f')} +- {number(row, n + '_spread', '.3f')}"
                 for n in ("ours", "eager", "compiled")]
        lines.append("| " + " | ".join([
            row["case"], *times, number(row, "error", ".1e"), number(row, "torch_error", ".1e"),
            number(row, "compile_s", ".1f"), number(row, "torch_compile_s", ".0f"),
            number(row, "library_mb", ".0f"), number(row, "weights_mb", ".0f")]) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tessera", default=str(ROOT / "build/tessera"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cases", default="1x128,1x384,8x384,32x128,32x384")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument("compile", nargs="*", help="options of tessera compile, behind --")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for case in options.cases.split(","):
            if not re.fullmatch(r"\d+x\d+", case):
                parser.error(f"--cases: {case!r} is not BATCHxSEQ")
            rows.append(Case(case, options, Path(folder)).run())
            options.out.write_text(report(rows, options))
            print(json.dumps(rows[-1]), flush=True)


if __name__ == "__main__":
    main()
