#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles and runs the models of the zoo with every back end alone and all together, at two sets
of sizes, against onnxruntime.

    run.py [--tessera COMMAND] [--part K/N | --today N] [--family NAME] [--model TEXT]
           [--configuration NAME,...] [--device cuda] [--jobs N] [--results FILE] [--verbose]
           [--update]

Prints a line for each model: the configurations' results and the time of all back ends together
relative to onnxruntime's, both with one thread; `slow` marks more than twice. A line below tells
of an `ok` whose rows are in another order. Exits with 1 if a result is wrong, a process crashes,
hangs or gives other bits the second time, or a refusal is none that expected_refusals.txt has (or
has, and is gone).
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

from running.configurations import CONFIGURATIONS, CPU, CUDA  # noqa: E402
from running.expected import LIST, read_expected, surprise, updated  # noqa: E402
from running.manifest import FAMILIES, read_manifest  # noqa: E402
from running.table import SLOW, kinds_of, ratio_of  # noqa: E402

DAY_S = 86400
BAD = ("wrong", "crash", "hang", "nondeterministic")


def part(text: str) -> tuple[int, int]:
    index, _, count = text.partition("/")
    if not (index.isdigit() and count.isdigit() and 0 < int(index) <= int(count)):
        raise argparse.ArgumentTypeError(f"{text!r} is not K/N with K from 1 to N")
    return int(index), int(count)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tessera", default=str(ROOT / "build" / "release" / "bin" / "tessera"))
    parser.add_argument("--part", type=part, default=(1, 1), metavar="K/N")
    parser.add_argument("--today", type=int, metavar="N", help="the part K/N whose turn is today")
    parser.add_argument("--family", choices=FAMILIES)
    parser.add_argument("--model", default="", help="only those whose name has this text")
    parser.add_argument("--configuration", type=lambda t: t.split(","))
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=240,
                        help="limit of one compilation or run")
    parser.add_argument("--results", type=Path, help="JSON, one line a model, for running/table.py")
    parser.add_argument("--update", action="store_true",
                        help="write expected_refusals.txt as these results have it")
    parser.add_argument("--verbose", action="store_true", help="messages of refusals too")
    options = parser.parse_args()
    if options.today:
        options.part = int(time.time() / DAY_S) % options.today + 1, options.today
    if options.configuration is None:
        options.configuration = list(CUDA if options.device == "cuda" else CPU)
    if unknown := set(options.configuration) - CONFIGURATIONS.keys():
        parser.error(f"no configuration {', '.join(sorted(unknown))}; "
                     f"there are {', '.join(CONFIGURATIONS)}")
    return options


def chosen(options: argparse.Namespace) -> list[dict]:
    """Every N-th model, so that each part has all families."""
    index, count = options.part
    return [m for m in read_manifest()[index - 1::count]
            if options.model in m["name"] and options.family in (None, m["family"])]


def examine(entry: dict, options: argparse.Namespace, root: Path) -> dict[str, dict]:
    """What each configuration gave, by name."""
    folder = root / entry["name"]
    done = subprocess.run([sys.executable, str(HERE / "running" / "examine.py"), options.tessera,
                           entry["name"], ",".join(options.configuration), str(folder),
                           "--seconds", str(options.seconds)],
                          capture_output=True, text=True)
    shutil.rmtree(folder, ignore_errors=True)
    found = {}
    for line in done.stdout.splitlines():
        result = json.loads(line)
        found[result.pop("configuration")] = result
    for name in options.configuration:
        found.setdefault(name, {"kind": "crash", "message": f"the test: {done.stderr[-300:]}"})
    return found


def print_model(name: str, results: dict[str, dict], surprises: dict[str, str],
                verbose: bool) -> None:
    ratio = ratio_of(results)
    speed = "" if ratio is None else f"{ratio:5.2f}x" + (" slow" if ratio > SLOW else "")
    print(f"{name:52} {speed:11} {kinds_of(results)}", flush=True)
    told = set()
    for configuration, result in results.items():
        note = surprises.get(configuration, "")
        text = result["message"] + (f" ({note})" if note else "")
        if text and text not in told and (verbose or note or result["kind"] in (*BAD, "ok")):
            told.add(text)
            print(f"    {configuration}: {text}", flush=True)


def write_results(path: Path, results: dict[str, dict[str, dict]]) -> None:
    lines = (json.dumps({"model": n, "results": r}) for n, r in results.items())
    path.write_text("".join(line + "\n" for line in lines))


def main() -> None:
    options = parse()
    models, expected = chosen(options), read_expected()
    if not Path(options.tessera).exists():
        raise SystemExit(f"there is no {options.tessera}: make build")
    counts: dict[str, int] = {}
    slow, unexpected, all_results = 0, 0, {}
    with tempfile.TemporaryDirectory(prefix="tessera-zoo-") as root, \
            ThreadPoolExecutor(options.jobs) as pool:
        work = pool.map(lambda m: examine(m, options, Path(root)), models)
        for entry, results in zip(models, work):
            surprises = {c: s for c, r in results.items()
                         if (s := surprise(expected, entry["name"], c, r))}
            print_model(entry["name"], results, surprises, options.verbose)
            for result in results.values():
                counts[result["kind"]] = counts.get(result["kind"], 0) + 1
            slow += (ratio_of(results) or 0) > SLOW
            unexpected += len(surprises)
            all_results[entry["name"]] = results
            if options.results:  # after each: a long run may be stopped
                write_results(options.results, all_results)
    if options.update:
        LIST.write_text(updated(LIST.read_text(), all_results))
    told = ", ".join(f"{n} {kind}" for kind, n in sorted(counts.items()))
    print(f"{len(models)} models x {len(options.configuration)} configurations: {told}; "
          f"{slow} slow; {unexpected} not as expected_refusals.txt says")
    raise SystemExit(1 if unexpected or any(counts.get(kind) for kind in BAD) else 0)


if __name__ == "__main__":
    main()
