# SPDX-License-Identifier: Apache-2.0
"""What bench/run.py measured, as a page to read, with the aims and whether they are met."""
import math
import re
from pathlib import Path

from contenders import CONTENDERS

TRANSFORMERS = {"minilm", "bert-base", "vit_b_16", "gpt2"}
COMPILE_AIM_S = {"minilm": 10, "bert-base": 20, "resnet50": 30}
MB = 1e6
UNITS = ("avx512_bf16", "amx_bf16", "avx512_vnni", "amx_int8", "avx512_fp16")
# Of which the second's speed relative to the first's is told.
PAIRS = [("tessera", "tessera bf16"), ("openvino bf16", "tessera bf16"),
         ("openvino default", "tessera bf16"), ("tessera", "tessera int8"),
         ("onnxruntime int8", "tessera int8"), ("openvino int8", "tessera int8")]


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows] + [""]


def ms(result: dict) -> str:
    return f"{result['median_us'] / 1e3:.2f}"


def units() -> str:
    """Of this machine, for other precisions than float32."""
    flags = re.search(r"^flags\s*: (.*)", Path("/proc/cpuinfo").read_text(), re.M)[1].split()
    return ", ".join(u for u in UNITS if u in flags) or "none of " + ", ".join(UNITS)


def in_float32(found: dict) -> dict:
    others = {name for p, names in CONTENDERS.items() if p != "float32" for name in names}
    return {e: r for e, r in found.items() if e not in others}


def columns(models: dict, results: str) -> list[str]:
    """Those in float32 of any model: an engine may have been left out."""
    return list(dict.fromkeys(e for m in models.values() for found in m[results].values()
                              for e in in_float32(found)))


def better_peer_us(found: dict) -> float | None:
    return min((r["median_us"] for e, r in in_float32(found).items() if e != "tessera"),
               default=None)


def ratio(found: dict) -> float | None:
    """Time of the better peer over ours: above one, we are faster."""
    peer = better_peer_us(found)
    return peer / found["tessera"]["median_us"] if peer and "tessera" in found else None


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def latency(models: dict, threads: str) -> list[str]:
    engines = columns(models, "threads")
    if not engines:
        return []
    compared = "tessera" in engines and len(engines) > 1
    head = ["model", *(f"{e} ms" for e in engines)]
    if compared:
        head += ["ours / onnxruntime", "better peer / ours"]
    rows = []
    for name, entry in models.items():
        found = entry["threads"][threads]
        row = [name, *(ms(found[e]) if e in found else "-" for e in engines)]
        if compared:
            onnxruntime = found.get("onnxruntime")
            row.append(f"{found['tessera']['median_us'] / onnxruntime['median_us']:.2f}"
                       if onnxruntime else "")
            row.append(f"{r:.2f}" if (r := ratio(found)) else "-")
        rows.append(row)
    lines = [f"## Latency, {threads} thread(s)", "", *table(head, rows)]
    if compared:
        ratios = [r for e in models.values() if (r := ratio(e["threads"][threads]))]
        lines += [f"Geometric mean of better peer / ours: **{geometric_mean(ratios):.2f}**", ""]
    return lines


def other_precisions(models: dict, threads: str) -> list[str]:
    """Times with errors, and how many times as fast the second of each of PAIRS is."""
    measured = [e["threads"][threads] for e in models.values()]
    engines = [n for p, names in CONTENDERS.items() if p != "float32" for n in names
               if any(n in found for found in measured)]
    if not engines:
        return []
    cell = lambda r: f"{ms(r)} ({r['mean_error']:.0e})"
    rows = [[name, *(cell(found[e]) if e in found else "-" for e in engines)]
            for name, found in zip(models, measured)]
    lines = [f"## Other precisions, {threads} thread(s)", "",
             "Medians in ms; in parentheses the root mean square of the difference from "
             "onnxruntime in float32, relative to that of the output.", "",
             *table(["model", *engines], rows)]
    pairs = [(a, b) for a, b in PAIRS if any(a in f and b in f for f in measured)]
    ratio_of = lambda f, a, b: f[a]["median_us"] / f[b]["median_us"] if a in f and b in f else None
    rows = [[name, *("-" if (r := ratio_of(f, a, b)) is None else f"{r:.2f}" for a, b in pairs)]
            for name, f in zip(models, measured)]
    means = [geometric_mean([r for f in measured if (r := ratio_of(f, a, b))]) for a, b in pairs]
    rows.append(["geometric mean", *(f"**{m:.2f}**" for m in means)])
    return lines + table(["time of / time of", *(f"{a} / {b}" for a, b in pairs)], rows)


def neighbours(models: dict) -> list[str]:
    """Medians and 99th percentiles beside busy processes, and those of the better peer."""
    counts = list(next(iter(models.values()))["neighbours"])
    if len(counts) < 2:
        return []
    engines = list(dict.fromkeys(
        e for m in models.values() for found in m["neighbours"].values() for e in found))
    rows = []
    for name, entry in models.items():
        for count, found in entry["neighbours"].items():
            rows.append([name, str(count),
                         *(f"{found[e]['median_us'] / 1e3:.2f} ({found[e]['p99_us'] / 1e3:.1f})"
                           if e in found else "-" for e in engines)])
    return ["## Beside busy processes", "",
            "Medians, and 99th percentiles in parentheses, in ms; pinned nowhere; the last number "
            "of threads.", "", *table(["model", "busy processes", *engines], rows)]


def accuracy(models: dict) -> list[str]:
    engines = columns(models, "threads")
    worst = lambda m, e: max((t[e]["error"] for t in m["threads"].values() if e in t), default=None)
    rows = [[n, *("-" if (w := worst(m, e)) is None else f"{w:.1e}" for e in engines)]
            for n, m in models.items()]
    return ["## Largest difference from onnxruntime, relative to the largest magnitude", "",
            *table(["model", *engines], rows)]


def compiling(models: dict) -> list[str]:
    rows = []
    others = list(next(iter(models.values())).get("compile_s", {}))  # precisions
    for name, entry in models.items():
        if "compile" not in entry:
            return []
        built = entry["compile"]
        cold, cached = built["cold"], built["cached"]
        rows.append([name, f"{cold['seconds']:.1f}", f"{cached['seconds']:.2f}",
                     f"{built['write_seconds']:.2f}", f"{cold['peak_bytes'] / MB:.0f}",
                     f"{cold.get('weight_bytes', 0) / MB:.0f}",
                     f"{built['library_bytes'] / MB:.0f}",
                     *(f"{entry['compile_s'][p]:.1f}" for p in others)])
    return ["## Compiling", "", *table(
        ["model", "cold s", "cached s", "writing the file s", "peak MB", "weights MB",
         "library MB", *(f"{p}: cold s" for p in others)], rows)]


def running(models: dict) -> list[str]:
    rows = []
    for name, entry in models.items():
        found = list(entry["threads"].values())[-1]  # the first start warmed the file
        row = [name]
        for engine in ("tessera", "onnxruntime", "openvino"):
            result = found.get(engine)
            row.append(f"{result['load_us'] / 1e3:.0f}" if result else "")
            row.append(f"{result['peak_bytes'] / MB:.0f}" if result else "")
        ours = found.get("tessera")
        row.append(f"{ours['call_overhead_us']:.0f}" if ours else "")
        rows.append(row)
    return ["## Loading and memory of running", "",
            "Loading is `tessera_model_create` with the opening of the library (warm), the other "
            "engines' session or compiled model. Memory is the process's, Python included. "
            "Overhead is a call from C++ less the time of its kernels.", "", *table(
                ["model", "tessera load ms", "MB", "onnxruntime load ms", "MB",
                 "OpenVINO load ms", "MB", "call overhead us"], rows)]


def aims(models: dict) -> list[str]:
    """The aims that these measurements can judge; nothing without our own column."""
    checks: list[tuple[str, bool]] = []
    for name, entry in models.items():
        if "compile" not in entry:
            return []
        built = entry["compile"]
        limit = 1.0 if name in TRANSFORMERS else 1.25
        for threads, found in entry["threads"].items():
            ours, theirs = found["tessera"], found.get("onnxruntime")
            if theirs:
                value = ours["median_us"] / theirs["median_us"]
                checks.append((f"{name}, {threads} thread(s): {value:.2f} of onnxruntime's time, "
                               f"at most {limit}", value <= limit))
            checks.append((f"{name}, {threads} thread(s): difference {ours['error']:.1e}, at most "
                           "1e-4", ours["error"] <= 1e-4))
        cold, cached = built["cold"], built["cached"]
        if name in COMPILE_AIM_S:
            checks.append((f"{name}: compiles in {cold['seconds']:.1f} s, at most "
                           f"{COMPILE_AIM_S[name]} s", cold["seconds"] <= COMPILE_AIM_S[name]))
        cached_limit = 2 + built["write_seconds"]
        checks.append((f"{name}: from cache in {cached['seconds']:.2f} s, at most "
                       f"{cached_limit:.2f} s", cached["seconds"] <= cached_limit))
        memory_limit = 1.3 * cold.get("weight_bytes", 0) + 300 * MB
        checks.append((f"{name}: peak {cold['peak_bytes'] / MB:.0f} MB, at most "
                       f"{memory_limit / MB:.0f} MB", cold["peak_bytes"] <= memory_limit))
        ours = list(entry["threads"].values())[-1]["tessera"]
        if name == "bert-base":
            checks.append((f"{name}: loads in {ours['load_us'] / 1e3:.1f} ms, at most 50 ms",
                           ours["load_us"] <= 50e3))
        overhead = ours["call_overhead_us"]
        checks.append((f"{name}: {overhead:.0f} us a call beside its kernels, at most 20 us",
                       overhead <= 20))
    ratios = [r for e in models.values() for t in e["threads"].values() if (r := ratio(t))]
    if ratios:
        mean = geometric_mean(ratios)
        checks.append((f"geometric mean of better peer / ours, all: {mean:.2f}, at least 0.95",
                       mean >= 0.95))
    return ["## Aims", "", *(f"* {'met' if ok else '**missed**'}: {text}" for text, ok in checks),
            ""]


def write_markdown(results: dict) -> str:
    models, host = results["models"], results["machine"]
    models = {n: {**m, "threads": {str(t): f for t, f in m["threads"].items()}}
              for n, m in models.items()}
    first = next(iter(models.values()))["threads"]
    versions = ", ".join(f"{engine} {result['version'].split('-')[0]}".strip()
                         for engine, result in in_float32(next(iter(first.values()))).items())
    sizes = ", ".join(f"{n} ({' '.join(f'{d}={v}' for d, v in m['dims'].items())})"
                      for n, m in models.items())
    lines = [f"# CPU, {results['date']}", "",
             f"{host['cpu']}, {host['cpus']} CPUs, {host['memory_gb']} GB, Linux {host['kernel']}; "
             f"commit {host['commit']}; {versions}. {units()}. {sizes}.", "",
             f"    {results['command']}", ""]
    for threads in first:
        lines += latency(models, threads) + other_precisions(models, threads)
    lines += neighbours(models)
    if results["failed"]:
        lines += ["## Failed", "", *(f"* {n}: {e}" for n, e in results["failed"].items()), ""]
    lines += accuracy(models) + compiling(models) + running(models) + aims(models)
    return "\n".join(lines)
