#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One engine holding one model, in a process of its own, driven by run.py a round at a time.

    engine.py ENGINE MODEL INPUTS_DIR THREADS

ENGINE: tessera, before (a library of an older tessera), onnxruntime, openvino (in float32),
openvino_bf16, openvino_default (in the precision that it chooses).

Reads commands, one a line, and answers each with one line of JSON:
    run SECONDS     runs for so long; the time of each run in microseconds
    save DIR        writes the outputs of the last run as DIR/NAME.npy
    profile RUNS    tessera only: median time of a call, and of the kernels in it, in microseconds
    memory          the largest resident size of this process so far, in bytes
The first answer, without a command, says how long loading took.
"""
import argparse
import ctypes
import json
import os
import re
import statistics
import sys
import time
from pathlib import Path

import numpy as np
from naming import file_name

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "abi"))


class Tessera:
    def __init__(self, path: str, feeds: dict, threads: int):
        import ctypes_model as tessera
        # An older library knows its own version of the interface; what is used here is the same.
        tessera.ABI_VERSION = ctypes.CDLL(str(path)).tessera_abi_version()
        self.model = tessera.Model(path, threads)
        self.load_us = {"load_us": self.model.load_us, "instance_us": self.model.instance_us}
        self.version = self.model.metadata.get("version", "")
        self.run = self.model.bind(feeds)

    def outputs(self) -> dict:
        return self.run.fetch()

    def profile(self, runs: int) -> dict:
        self.run()
        self.model.profile(True)
        calls = []
        for _ in range(runs):
            start = time.perf_counter()
            self.run()
            calls.append(1e6 * (time.perf_counter() - start))
        kernels = self.model.profile_entries()
        self.model.profile(False)
        kernel_us = sum(k["total_us"] for k in kernels) / runs
        return {"call_us": statistics.mean(calls), "kernel_us": kernel_us, "kernels": kernels}


class OnnxRuntime:
    def __init__(self, path: str, feeds: dict, threads: int):
        import onnxruntime
        self.version = onnxruntime.__version__
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        start = time.perf_counter()
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.load_us = {"load_us": 1e6 * (time.perf_counter() - start)}
        self.names = [o.name for o in session.get_outputs()]
        self.binding = session.io_binding()
        for name, array in feeds.items():
            self.binding.bind_cpu_input(name, array)
        for name in self.names:
            self.binding.bind_output(name, "cpu")
        self.run = lambda: session.run_with_iobinding(self.binding)

    def outputs(self) -> dict:
        return dict(zip(self.names, self.binding.copy_outputs_to_cpu()))


class OpenVino:
    precision = "f32"

    def __init__(self, path: str, feeds: dict, threads: int):
        import openvino
        self.version = openvino.__version__
        start = time.perf_counter()
        hint = {"INFERENCE_PRECISION_HINT": self.precision} if self.precision else {}
        compiled = openvino.Core().compile_model(path, "CPU", {
            "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY",
            **hint})
        self.load_us = {"load_us": 1e6 * (time.perf_counter() - start)}
        self.request = compiled.create_infer_request()
        self.tensors = {n: openvino.Tensor(a, shared_memory=True) for n, a in feeds.items()}
        for name, tensor in self.tensors.items():
            self.request.set_tensor(name, tensor)
        self.names = [o.names for o in compiled.outputs]  # each may have several
        self.run = self.request.infer

    def outputs(self) -> dict:
        return {name: self.request.get_output_tensor(i).data.copy()
                for i, names in enumerate(self.names) for name in names}


class OpenVinoBf16(OpenVino):
    precision = "bf16"


class OpenVinoDefault(OpenVino):
    precision = None


ENGINES = {"tessera": Tessera, "before": Tessera, "onnxruntime": OnnxRuntime, "openvino": OpenVino,
           "openvino_bf16": OpenVinoBf16, "openvino_default": OpenVinoDefault}


def peak_bytes() -> int:
    status = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(r"VmHWM:\s+(\d+)", status)[1])


def answer(engine, command: str, argument: str):
    if command == "run":
        times, end = [], time.perf_counter() + float(argument)
        engine.run()
        while not times or time.perf_counter() < end:
            start = time.perf_counter()
            engine.run()
            times.append(1e6 * (time.perf_counter() - start))
        return times
    if command == "save":
        folder = Path(argument)
        folder.mkdir(parents=True, exist_ok=True)
        for name, array in engine.outputs().items():
            np.save(folder / file_name(name), array)
        return sorted(engine.outputs())
    if command == "profile":
        return engine.profile(int(argument))
    if command == "memory":
        return peak_bytes()
    raise SystemExit(f"engine.py: unknown command {command!r}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", choices=ENGINES)
    parser.add_argument("model")
    parser.add_argument("inputs", type=Path)
    parser.add_argument("threads", type=int)
    options = parser.parse_args()

    # Libraries may print; the answers must stay alone.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    feeds = {p.stem: np.load(p) for p in sorted(options.inputs.glob("*.npy"))}
    engine = ENGINES[options.engine](options.model, feeds, options.threads)
    print(json.dumps({"version": engine.version, **engine.load_us}), file=answers, flush=True)
    for line in sys.stdin:
        command, _, argument = line.strip().partition(" ")
        print(json.dumps(answer(engine, command, argument)), file=answers, flush=True)


if __name__ == "__main__":
    main()
