# SPDX-License-Identifier: Apache-2.0
"""Runs a compiled library at each set of sizes, twice, by one thread and by two, and where a model
is given times it beside onnxruntime. A process of its own, because a library may crash:

    execute.py LIBRARY FOLDER [MODEL.onnx]

reads FOLDER/in0.npz and in1.npz, writes FOLDER/out0.npz, out1.npz, out2.npz and out3.npz, the last
two by two threads, and FOLDER/run.json.
"""
import json
import statistics
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[2] / "tests" / "abi")]

import numpy as np  # noqa: E402
import ctypes_model as tessera  # noqa: E402

from running.arrays import load_arrays, save_arrays  # noqa: E402

ROUNDS = 15
LONGEST_S = 2.0  # of one model's timing; what takes longer is known well enough after three rounds


def timed(call) -> float:
    """Of this thread's own time, which a busy machine does not change: both engines have one."""
    start = time.thread_time()
    call()
    return time.thread_time() - start


def compare_times(call, other) -> tuple[float, float]:
    """Medians in microseconds, measured in turns."""
    ours: list[float] = []
    theirs: list[float] = []
    end = time.perf_counter() + LONGEST_S
    while len(ours) < 3 or (len(ours) < ROUNDS and time.perf_counter() < end):
        ours.append(timed(call))
        theirs.append(timed(other))
    return 1e6 * statistics.median(ours), 1e6 * statistics.median(theirs)


def same_bits(a: dict, b: dict) -> bool:
    return all(a[n].shape == b[n].shape and a[n].tobytes() == b[n].tobytes() for n in a)


def run_sets(model, feeds: list[dict]) -> tuple[list[dict], list[dict | None]]:
    """What is to be said of each set, and its results."""
    told: list[dict] = [{} for _ in feeds]
    results: list = [None for _ in feeds]
    for index in 2 * list(range(len(feeds))):  # sizes change between runs, as those of a service do
        outcome = told[index]
        try:
            found = model.run(feeds[index])
        except tessera.Error as problem:
            outcome["error"] = str(problem)
            continue
        if results[index] is None:
            results[index] = found
            outcome["repeats"] = True
        else:
            outcome["repeats"] = outcome["repeats"] and same_bits(results[index], found)
    return told, results


def main() -> None:
    library, folder = sys.argv[1], Path(sys.argv[2])
    report: dict = {"sets": []}
    feeds = [load_arrays(folder / f"in{i}.npz") for i in range(2)]
    with tessera.Model(library, threads=1) as model, tessera.Model(library, threads=2) as wide:
        for by in (model, wide):
            told, results = run_sets(by, feeds)
            for outcome, found in zip(told, results):
                if found is not None:
                    save_arrays(folder / f"out{len(report['sets'])}.npz", found)
                report["sets"].append(outcome)
        (folder / "run.json").write_text(json.dumps(report))
        if "error" not in report["sets"][0] and len(sys.argv) > 3:
            report["times_us"] = time_both(model, feeds[0], sys.argv[3])
            (folder / "run.json").write_text(json.dumps(report))


def time_both(model, feeds: dict, model_path: str) -> list[float] | None:
    import onnx

    from running.reference import session_of
    if any(x.dtype.kind == "V" or x.dtype.name == "bfloat16" for x in feeds.values()):
        return None
    try:
        session = session_of(onnx.load(model_path))
    except Exception:  # of types that it does not know
        return None
    feeds = {n: np.asarray(x) for n, x in feeds.items()}
    return list(compare_times(model.bind(feeds), lambda: session.run(None, feeds)))


if __name__ == "__main__":
    main()
