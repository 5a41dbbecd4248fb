#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measured placement on the CPU: what it chooses of whole models, and what that gains.

    bench/collage.py [--models resnet50,minilm] [--threads 1,2] [--evolve 20] [--tessera COMMAND]
                     [--records FOLDER] [--out bench/results/DATE-collage-cpu.md]

`tessera compile --partition collage` measures its plans itself, all in turns, and compares their
numbers before it times them: the table is of that race. `regions`: the plan of the first level;
`greedy`: by priorities; `alone`: the best of one back end with generated code for the rest,
OpenVINO as a whole among them; `evolved`: the second level. Each is relative to the plan that is
written: above 1 it is slower. Models are those of run.py.
"""
import argparse
import datetime
import json
import subprocess
import sys
import time
from pathlib import Path

from report import geometric_mean, table
from run import MODELS, ROOT, machine, prepare

BACK_ENDS = ("onednn", "blas", "openvino")


def compiled(options: argparse.Namespace, name: str, threads: int) -> dict:
    folder = prepare(name, ROOT / "build" / "bench")
    records = (options.records or folder) / f"{name}-{threads}.sqlite"
    start = time.perf_counter()
    done = subprocess.run(
        [options.tessera, "compile", folder / "model.onnx", "-o", folder / "collage.so", "--json",
         "--partition", "collage", "--threads", str(threads), "--evolve", str(options.evolve),
         "--target", f"cpu -threads={threads}", *(f"--target={b}" for b in BACK_ENDS),
         "--records", records], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"{name} is not compiled")
    return json.loads(done.stdout)["collage"] | {"seconds": time.perf_counter() - start}


def names_of(plan: dict) -> list[str]:
    return plan["plan"].split(", ")


def least(plans: list[dict], wanted) -> float | None:
    """Microseconds of the fastest plan one of whose names is wanted."""
    return min((p["time_us"] for p in plans
                if "time_us" in p and "why_not" not in p and any(map(wanted, names_of(p)))),
               default=None)


def row_of(case: str, threads: int, collage: dict) -> dict:
    plans = collage["plans"]
    chosen = next(p for p in plans if p["chosen"])
    searched = next((p for p in plans if "collage" in names_of(p)), {})
    return {
        "case": case, "threads": threads, "chosen": chosen["plan"], "us": chosen["time_us"],
        "regions": least(plans, lambda n: n.startswith("collage")),
        "greedy": least(plans, lambda n: n == "greedy"),
        "alone": least(plans, lambda n: n.endswith(" alone") or n == "native"),
        "evolved": least(plans, lambda n: n == "evolved"),
        "sum": searched.get("predicted_us", 0) / searched["time_us"] if "time_us" in searched
               else None,
        "who": sorted({r["chosen"]["backend"] for r in collage["regions"]}),
        "programs": collage["programs"], "failed": collage["failed"], "seconds": collage["seconds"]}


def page(rows: list[dict]) -> str:
    host = machine()
    lines = [f"# Measured placement on the CPU, {datetime.date.today().isoformat()}", "",
             f"{host['cpu']}, {host['cpus']} CPUs; commit {host['commit']}.", "",
             "    " + " ".join(["bench/collage.py", *sys.argv[1:]]), ""]
    shown = lambda value: "-" if value is None else f"{value:.3f}"
    cells = []
    for row in rows:
        relative = {k: None if row[k] is None else row[k] / row["us"]
                    for k in ("regions", "greedy", "alone", "evolved")}
        cells.append([row["case"], str(row["threads"]), f"{row['us'] / 1e3:.2f}", row["chosen"],
                      *map(shown, relative.values()), shown(row["sum"]), " ".join(row["who"]),
                      f"{row['programs']}, {row['failed']}", f"{row['seconds']:.0f}"])
    lines += table(["model", "threads", "ms", "written", "regions", "greedy", "alone", "evolved",
                    "sum / whole", "who computes the searched plan", "programs, failed",
                    "compile s"], cells)
    for other in ("greedy", "alone"):
        gains = [r[other] / r["us"] for r in rows if r[other] is not None]
        if gains:
            lines.append(f"Gain over {other}: {geometric_mean(gains):.3f}, least {min(gains):.3f}.")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--evolve", type=float, default=20, help="seconds of the second level")
    parser.add_argument("--tessera", type=Path, default=ROOT / "build" / "tessera")
    parser.add_argument("--records", type=Path, help="folder of a file a case, kept")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    out = (options.out or
           ROOT / "bench/results" / f"{datetime.date.today().isoformat()}-collage-cpu.md")
    rows = []
    for name in options.models.split(","):
        for threads in map(int, options.threads.split(",")):
            rows.append(row_of(name, threads, compiled(options, name, threads)))
            print(json.dumps(rows[-1]), flush=True)
            out.write_text(page(rows))


if __name__ == "__main__":
    main()
