#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares compiled models with onnxruntime and OpenVINO on this machine's CPU.

    bench/run.py [--models minilm,resnet50] [--threads 1,2] [--seconds 4] [--out bench/results]
                 [--precisions float32,default,bf16,int8] [--before COMMAND] [--neighbours 1,2]

Models are those of bench/models, which are the usual ones, and the architectures of
tools/export.py, which are made with the environment of scripts/torch-models.sh.

Precisions: `float32`; `default`, OpenVINO's own choice; `bf16`; `int8`, of models quantised by
onnxruntime (QDQ, static). An engine that does not take a model is told, and left out there.

For each model and number of threads, each engine is a process of its own; they take turns in short
rounds while the others sleep, so that what disturbs the machine disturbs all. Times are medians
over all rounds. With the last number of threads, all is measured again beside one and two busy
processes that nobody pins anywhere. Compiling is measured with an empty cache, then with a full one
(median of three); peak memory is that of the largest process of the tree. Writes DATE-cpu.md and
DATE-cpu.json.
"""
import argparse
import datetime
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from contenders import BEFORE, CONTENDERS, Contender, sources
from report import write_markdown

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / "bench" / "tools"
MODELS = {
    "minilm": {"batch": 1, "seq": 128},
    "bert-base": {"batch": 1, "seq": 128},
    "bert-large": {"batch": 1, "seq": 128},
    "resnet50": {"batch": 1},
    "vit_b_16": {"batch": 1},
    "mobilenet_v2": {"batch": 1},
    "gpt2": {"batch": 1, "seq": 64},
}
ROUND_S = 0.4
# Has torch, for the architectures of tools/export.py; scripts/torch-models.sh makes the usual one.
TORCH_PYTHON = os.environ.get("TORCH_PYTHON", ROOT / "build" / "torch" / "bin" / "python")
PAUSE_S = 0.03  # lets the idle threads of the engine before stop spinning
PROFILE_RUNS = 20
CACHED_ROUNDS = 3


def prepare(name: str, work: Path) -> Path:
    """Weights, inputs and reference outputs, kept between runs; returns the model's folder."""
    folder = work / name
    if not (folder / "outputs").is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        model = folder / "model.onnx"
        if name in MODELS:
            dims = [f"--dim={d}={n}" for d, n in MODELS[name].items()]
            skeleton = ROOT / "bench" / "models" / f"{name}.skeleton.onnx"
            make = [sys.executable, TOOLS / "hydrate.py", skeleton, model, *dims]
        else:
            make = [TORCH_PYTHON, TOOLS / "export.py", name, model]
        subprocess.run(make, check=True, stdout=subprocess.DEVNULL)
        subprocess.run([sys.executable, TOOLS / "reference.py", model, folder], check=True,
                       stdout=subprocess.DEVNULL)
    return folder


def compile_once(command: list, environment: dict) -> dict:
    """Runs `tessera compile --json`. The peak is what the command says of its largest process: what
    wait4 tells would contain this process, from which the command was started."""
    start = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.PIPE, env=environment)
    seconds = time.perf_counter() - start
    if done.returncode:
        raise RuntimeError(f"tessera compile: exit {done.returncode}")
    said = json.loads(done.stdout)
    return {"seconds": seconds, **{k: said[k] for k in (
        "peak_bytes", "library_bytes", "weight_bytes", "placement")}}


def compile_cold(tessera: Path, folder: Path, model: Path, library: Path,
                 extra: list[str]) -> dict:
    """With an empty cache."""
    cache = folder / "cache"
    shutil.rmtree(cache, ignore_errors=True)
    return compile_once([tessera, "compile", model, "-o", library, "--bundle", "--json", *extra],
                        {**os.environ, "TESSERA_CACHE_DIR": str(cache)})


def replace_file(path: Path, data: bytes) -> float:
    """Writes a new file and puts it in place of the old one, as a compiler does that leaves nothing
    half-written: memory and disk have to be found while the old file still holds its own."""
    os.sync()
    start = time.perf_counter()
    new = path.with_suffix(".new")
    new.write_bytes(data)
    new.replace(path)
    return time.perf_counter() - start


def compile_model(tessera: Path, folder: Path, extra: list[str]) -> dict:
    """Once with an empty cache; then with a full one and, by turns, replacing a file of the
    library's size: medians. What earlier files left to write is written before each."""
    model, library = folder / "model.onnx", folder / "model.so"
    environment = {**os.environ, "TESSERA_CACHE_DIR": str(folder / "cache")}
    command = [tessera, "compile", model, "-o", library, "--bundle", "--json", *extra]
    os.sync()
    cold = compile_cold(tessera, folder, model, library, extra)
    data = library.read_bytes()
    cached, writes = [], []
    replaced = folder / "write.tmp"
    replace_file(replaced, data)
    for _ in range(CACHED_ROUNDS):
        os.sync()
        cached.append(compile_once(command, environment))
        writes.append(replace_file(replaced, data))
    replaced.unlink()
    return {"cold": cold, "cached": sorted(cached, key=lambda c: c["seconds"])[CACHED_ROUNDS // 2],
            "library_bytes": len(data), "write_seconds": statistics.median(writes)}


class Worker:
    """A process with one engine and one model."""

    def __init__(self, engine: str, model: Path, inputs: Path, threads: int):
        self.process = subprocess.Popen(
            [sys.executable, TOOLS / "engine.py", engine, model, inputs, str(threads)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.loaded = self._read()
        self.times: list[float] = []

    def ask(self, command: str):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self._read()

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()

    def _read(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.process.args[2]}: the process ended early, "
                               f"exit {self.process.wait()}")
        return json.loads(line)


class Neighbours:
    """Busy processes, for as long as the block lasts."""

    def __init__(self, count: int):
        self.count = count

    def __enter__(self):
        self.processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
                          for _ in range(self.count)]

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()


def errors(folder: Path, reference: Path) -> dict[str, float]:
    """The worst of all outputs: the largest difference relative to the largest magnitude, and the
    root mean square of the difference relative to that of the output."""
    worst = {"error": 0.0, "mean_error": 0.0}
    for file in sorted(reference.glob("*.npy")):
        wanted, found = np.load(file).astype(np.float64), np.load(folder / file.name)
        if wanted.shape != found.shape or not np.isfinite(found).all():
            return dict.fromkeys(worst, float("inf"))
        apart = found - wanted
        largest = float(np.abs(apart).max() / (np.abs(wanted).max() or 1.0))
        mean = float(np.sqrt((apart**2).mean() / ((wanted**2).mean() or 1.0)))
        worst = {"error": max(worst["error"], largest),
                 "mean_error": max(worst["mean_error"], mean)}
    return worst


def take_turns(workers: dict[str, Worker], seconds: float) -> None:
    engines = list(workers)
    for turn in range(max(1, round(seconds / ROUND_S))):
        for engine in engines[turn % len(engines):] + engines[:turn % len(engines)]:
            time.sleep(PAUSE_S)
            workers[engine].times += workers[engine].ask(f"run {ROUND_S}")


def start(name: str, contender: Contender, folder: Path, threads: int) -> Worker | None:
    """One that does not take the model is left out, unless it is ours."""
    worker = None
    try:
        worker = Worker(contender.engine, folder / contender.file, folder / "inputs", threads)
        worker.ask("run 0.2")
        return worker
    except RuntimeError as error:
        if worker is not None:
            worker.close()
        if contender.engine == "tessera":
            raise
        print(f"{folder.name:14} without {name}: {error}", flush=True)
        return None


def measure(folder: Path, threads: int, contenders: dict[str, Contender], seconds: float,
            neighbours: int = 0) -> dict:
    workers = {}
    try:
        for name, contender in contenders.items():
            worker = start(name, contender, folder, threads)
            if worker is not None:
                workers[name] = worker
        with Neighbours(neighbours):
            take_turns(workers, seconds)
        return {name: finish(name, worker, folder) for name, worker in workers.items()}
    finally:
        for worker in workers.values():
            worker.close()


def call_overhead_us(tessera: Path, folder: Path, threads: int) -> float:
    """What a call takes beside its kernels, without the way through Python."""
    said = subprocess.run(
        [tessera, "bench", folder / "model.so", "--inputs", folder / "inputs", "--threads",
         str(threads), "--seconds", "0", "--json"], stdout=subprocess.PIPE, check=True).stdout
    return json.loads(said)["call_overhead_us"]


def finish(engine: str, worker: Worker, folder: Path) -> dict:
    worker.ask(f"save {folder / engine}")
    times = sorted(worker.times)
    result = {
        "median_us": statistics.median(times), "min_us": times[0],
        "p95_us": times[int(0.95 * (len(times) - 1))],
        "p99_us": times[int(0.99 * (len(times) - 1))], "runs": len(times),
        **errors(folder / engine, folder / "outputs"),
        "peak_bytes": worker.ask("memory"), **worker.loaded}
    if engine == "tessera":
        result["profile"] = worker.ask(f"profile {PROFILE_RUNS}")
    return result


def machine() -> dict:
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    memory = re.search(r"MemTotal:\s+(\d+)", Path("/proc/meminfo").read_text())
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"],
                            capture_output=True, text=True).stdout.strip()
    return {"cpu": cpu[1] if cpu else "unknown", "cpus": len(os.sched_getaffinity(0)),
            "memory_gb": round(int(memory[1]) / 2**20), "kernel": os.uname().release,
            "commit": commit}


def bench_model(name: str, contenders: dict[str, Contender], options: argparse.Namespace) -> dict:
    folder = prepare(name, ROOT / "build" / "bench")
    entry = {"dims": MODELS.get(name, {}), "threads": {}}
    if "tessera" in contenders:
        entry["compile"] = compile_model(options.tessera, folder, options.compile_option)
    entry["compile_s"] = {p: compile_cold(options.tessera, folder, *source)["seconds"]
                          for p in options.precisions for source in sources(p, folder)}
    if options.before:
        earlier = folder / BEFORE["before"].file
        earlier.parent.mkdir(exist_ok=True)
        compile_once([options.before, "compile", folder / "model.onnx", "-o", earlier, "--bundle",
                      "--json", *options.compile_option],
                     {**os.environ, "TESSERA_CACHE_DIR": str(folder / "cache")})
    for threads in map(int, options.threads.split(",")):
        found = entry["threads"][threads] = measure(folder, threads, contenders, options.seconds)
        if "tessera" in found:
            found["tessera"]["call_overhead_us"] = call_overhead_us(
                options.tessera, folder, threads)
        print(f"{name:14} {threads} thread(s)  " + "  ".join(
            f"{e} {r['median_us'] / 1e3:.2f} ms (error {r['error']:.0e})"
            for e, r in found.items()), flush=True)
    entry["neighbours"] = {0: found}
    for count in filter(None, options.neighbours.split(",")):
        beside = entry["neighbours"][int(count)] = measure(folder, threads, contenders,
                                                           options.seconds, int(count))
        print(f"{name:14} beside {count} busy     " + "  ".join(
            f"{e} {r['median_us'] / 1e3:.2f} (99 %: {r['p99_us'] / 1e3:.1f}) ms"
            for e, r in beside.items()), flush=True)
    return entry


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--engines", default=",".join(CONTENDERS["float32"]),
                        help="in float32")
    parser.add_argument("--precisions", default=",".join(CONTENDERS))
    parser.add_argument("--neighbours", default="1,2", metavar="COUNTS",
                        help="numbers of busy processes to measure beside, with the last number of "
                             "threads; empty: none")
    parser.add_argument("--seconds", type=float, default=4, help="of measuring, each engine")
    parser.add_argument("--tessera", type=Path, default=ROOT / "build" / "tessera")
    parser.add_argument("--before", type=Path, metavar="COMMAND",
                        help="an older tessera, whose libraries take turns with the others")
    parser.add_argument("--compile-option", action="append", default=[], metavar="OPTION",
                        help="passed to `tessera compile`")
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "results")
    options = parser.parse_args()
    options.precisions = options.precisions.split(",")
    contenders = {name: contender for p in options.precisions
                  for name, contender in CONTENDERS[p].items()
                  if p != "float32" or name in options.engines.split(",")}
    contenders |= BEFORE if options.before else {}

    results = {"date": datetime.date.today().isoformat(), "machine": machine(),
               "command": " ".join(["bench/run.py", *sys.argv[1:]]), "models": {}, "failed": {}}
    for name in options.models.split(","):
        try:
            results["models"][name] = bench_model(name, contenders, options)
        except RuntimeError as error:
            results["failed"][name] = str(error)
            print(f"{name:14} failed: {error}", flush=True)
    if not results["models"]:
        sys.exit("no model could be measured")

    options.out.mkdir(parents=True, exist_ok=True)
    base = options.out / f"{results['date']}-cpu"
    base.with_suffix(".json").write_text(json.dumps(results, indent=1) + "\n")
    base.with_suffix(".md").write_text(write_markdown(results))
    print(f"{base}.md")
    sys.exit(1 if results["failed"] else 0)


if __name__ == "__main__":
    main()
