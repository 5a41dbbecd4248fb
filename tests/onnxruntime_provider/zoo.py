#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The models of the zoo by the execution provider in onnxruntime, at two sets of sizes each, beside
onnxruntime's own (tests/zoo/running/compare.py says what is equal).

    zoo.py [--part K/N] [--family NAME] [--model TEXT] [--provider LIBRARY] [--seconds N]
           [--results FILE]

A line for each model: the result, how many of the nodes that run are the provider's, milliseconds
of a run of the session beside one without the provider, each with one thread. Models that
onnxruntime itself cannot run are none. Exits with 1 if any other is not equal.
"""
import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests" / "zoo"))

NAME = "TesseraExecutionProvider"


def options_of(provider: bool, profile: Path | None = None):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    if profile:
        options.enable_profiling = True
        options.profile_file_prefix = str(profile)
    if provider:
        devices = [d for d in onnxruntime.get_ep_devices() if d.ep_name == NAME]
        options.add_provider_for_devices(devices, {"threads": "1"})
    return options


def share(session) -> str:
    """Nodes of the provider's, and all that ran."""
    events = json.loads(Path(session.end_profiling()).read_text(encoding="utf-8"))
    run = {e["args"]["node_index"]: e["args"]["provider"] for e in events
           if "provider" in e.get("args", {})}
    return f"{sum(p == NAME for p in run.values())}/{len(run)}"


def milliseconds(*runs, turns: int = 7) -> list[float]:
    times = [[] for _ in runs]
    for _ in range(turns):
        for run, own in zip(runs, times):
            begin = time.perf_counter()
            run()
            own.append(1e3 * (time.perf_counter() - begin))
    return [statistics.median(own) for own in times]


def examine(name: str, library: str) -> dict:
    import onnxruntime
    from hydrate import hydrate, skeleton_path
    from running.compare import compare, computed_in
    from running.data_sizes import data_sizes
    from running.manifest import read_manifest
    from running.reference import Reference
    from running.values import make_value
    entry = next(m for m in read_manifest() if m["name"] == name)
    model = hydrate(skeleton_path(name))
    reference = Reference(model)
    onnxruntime.register_execution_provider_library("tessera", library)
    with tempfile.TemporaryDirectory() as folder:
        data = model.SerializeToString()
        try:
            theirs = onnxruntime.InferenceSession(data, options_of(False))
        except Exception as error:  # it has no kernels of some 16-bit types
            return {"result": "none", "message": f"onnxruntime: {str(error)[:80]}"}
        ours = onnxruntime.InferenceSession(data, options_of(True, Path(folder) / "p"),
                                            enable_fallback=0)
        worst, faults = 0.0, []
        for index in range(2):
            feeds = {n: make_value(n, d, d["shapes"][index], index)
                     for n, d in entry["inputs"].items()}
            same = dict(zip(reference.outputs, theirs.run(reference.outputs, feeds)))
            got = dict(zip(reference.outputs, ours.run(reference.outputs, feeds)))
            error, wrong, _ = compare(got, reference.exact(feeds), same, computed_in(entry, []),
                                      data_sizes(model))
            worst = max(worst, error)
            faults += [wrong] if wrong else []
        times = milliseconds(lambda: ours.run(None, feeds), lambda: theirs.run(None, feeds))
        return {"result": "wrong" if faults else "equal", "message": "; ".join(faults),
                "error": worst, "nodes": share(ours), "ms": times[0], "onnxruntime_ms": times[1]}


def in_a_process(name: str, options: argparse.Namespace) -> dict:
    try:
        done = subprocess.run([sys.executable, __file__, "--one", name, "--provider",
                               options.provider], capture_output=True, text=True,
                              timeout=options.seconds)
    except subprocess.TimeoutExpired:
        return {"result": "hang", "message": f"more than {options.seconds} s"}
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        kind = "crash" if done.returncode < 0 else "failed"
        return {"result": kind, "message": done.stderr.strip()[-300:]}
    return json.loads(lines[-1])


def main() -> int:
    from running.manifest import FAMILIES, read_manifest
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", default="1/1", metavar="K/N")
    parser.add_argument("--family", choices=FAMILIES)
    parser.add_argument("--model", default="")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--provider", default=str(ROOT / "build" / "release" / "lib" /
                                                  "libtessera_onnxruntime.so"))
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--results", type=Path)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(examine(options.one, options.provider)))
        return 0
    index, count = map(int, options.part.split("/"))
    names = [m["name"] for m in read_manifest()[index - 1::count]
             if options.model in m["name"] and options.family in (None, m["family"])]
    rows = {}
    for name in names:
        row = rows[name] = in_a_process(name, options)
        speed = (f"{row['nodes']:>7} nodes {row['ms']:9.3f} ms, onnxruntime "
                 f"{row['onnxruntime_ms']:9.3f} ms" if "ms" in row else "")
        print(f"{name:52} {row['result']:7} {speed} {row['message']}", flush=True)
        if options.results:
            options.results.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    kinds = [row["result"] for row in rows.values()]
    print(f"{len(kinds)} models:", ", ".join(f"{kinds.count(k)} {k}" for k in sorted(set(kinds))))
    return 0 if kinds and set(kinds) <= {"equal", "none"} else 1


if __name__ == "__main__":
    raise SystemExit(main())
