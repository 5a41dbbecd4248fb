# SPDX-License-Identifier: Apache-2.0
"""One model of the zoo in one process: filled, computed by onnxruntime, compiled in each
configuration, run, compared, in the first also timed. Prints a JSON line for each configuration.

    examine.py TESSERA NAME CONFIGURATIONS FOLDER [--seconds N]
"""
import argparse
import json
import os
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import onnx  # noqa: E402
from onnx import helper  # noqa: E402

from hydrate import hydrate, skeleton_path  # noqa: E402
from running.arrays import load_arrays, save_arrays  # noqa: E402
from running.compare import compare, computed_in  # noqa: E402
from running.configurations import CONFIGURATIONS, CPU_MEASURED  # noqa: E402
from running.data_sizes import data_sizes  # noqa: E402
from running.manifest import read_manifest  # noqa: E402
from running.reference import Reference, session_of  # noqa: E402
from running.values import make_value  # noqa: E402

MEMORY_BYTES = 12 << 30
VENDOR_LIBRARIES = Path(sys.prefix) / "lib"  # oneDNN's wheel puts them there
TOOL_FAILED = "E0105"  # a compiler refused what tessera emitted
USER_ERROR = 1
ERROR = re.compile(r"error\[(E\d+)\]: (.*)")


def limited() -> None:
    # The limit of what can be written to: CUDA reserves more addresses than any machine has memory.
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def start(command: list[str], seconds: float) -> tuple[int | None, str]:
    """The exit status, nothing where it took too long, and the end of what it said."""
    environment = {"TESSERA_LIBRARY_PATH": str(VENDOR_LIBRARIES)} | os.environ
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               text=True, errors="replace", preexec_fn=limited,
                               start_new_session=True, env=environment)
    try:
        said = process.communicate(timeout=seconds)[1]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # compilers that it started too
        process.communicate()
        return None, ""
    return process.returncode, said


def outcome(kind: str, message: str = "", **more) -> dict:
    return {"kind": kind, "message": message[:400]} | more


def compile_problem(status: int | None, said: str, seconds: float) -> dict | None:
    """What became of the compilation, unless it gave a library."""
    if status is None:
        return outcome("hang", f"the compilation took more than {seconds:.0f} s")
    if status == 0:
        return None
    first = ERROR.search(said)
    if status != USER_ERROR or first is None:
        what = f"signal {-status}" if status < 0 else f"exit status {status}"
        return outcome("crash", f"compile: {what}: {said.strip()[-300:]}")
    code, message = first.groups()
    if code == TOOL_FAILED:
        return outcome("crash", f"compile: {code} {message}")
    return outcome("refused", f"{code} {message}")


def run_problem(status: int | None, said: str, seconds: float) -> dict | None:
    if status is None:
        return outcome("hang", f"the run took more than {seconds:.0f} s")
    if status != 0:
        what = f"signal {-status}" if status < 0 else f"exit status {status}"
        return outcome("crash", f"run: {what}: {said.strip()[-300:]}")
    return None


def named_dims(model: onnx.ModelProto, entry: dict) -> list[tuple[str, list[int]]]:
    """The symbols of the inputs, in order, and the size of each in the sets of inputs."""
    found = []
    for value in model.graph.input:
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            sizes = [s[axis] for s in entry["inputs"].get(value.name, {}).get("shapes", [])]
            if dim.dim_param and sizes:
                found.append((dim.dim_param, sizes))
    return found


def empty_dims(dims: list[tuple[str, list[int]]]) -> list[str]:
    """Options for the symbols that a set of inputs makes zero: no size unless it is told."""
    return sorted({f"--dim={name}=0.." for name, sizes in dims if 0 in sizes})


def likely_dims(dims: list[tuple[str, list[int]]]) -> list[str]:
    """Options that make the first set's sizes the likely ones: what is measured is run with them,
    and the sizes that are taken of an unknown model may be none of its."""
    found = {}
    for name, sizes in dims:
        if name.isidentifier():
            found.setdefault(name, f"{min(1, *sizes)}..:{sizes[0]}")
    return [f"--dim={name}={sizes}" for name, sizes in sorted(found.items())]


class Subject:
    """A filled model, its inputs and its right results in a folder."""

    def __init__(self, entry: dict, folder: Path):
        self.entry, self.folder = entry, folder
        folder.mkdir(parents=True, exist_ok=True)
        model = hydrate(skeleton_path(entry["name"]))
        self.path = folder / "model.onnx"
        onnx.save(model, self.path)
        self.dims = named_dims(model, entry)
        self.data_sizes = data_sizes(model)
        self.exact, self.same = [], []
        self.types = {o.name: helper.tensor_dtype_to_np_dtype(o.type.tensor_type.elem_type)
                      for o in model.graph.output}
        reference = Reference(model)
        own = self.session_of(model)
        for index in range(2):
            feeds = {n: make_value(n, d, d["shapes"][index], index)
                     for n, d in entry["inputs"].items()}
            save_arrays(folder / f"in{index}.npz", feeds)
            self.exact.append(reference.exact(feeds))
            self.same.append(self.run(own, reference, feeds))

    @staticmethod
    def session_of(model):
        try:
            return session_of(model)
        except Exception:  # onnxruntime has no kernels of some 16-bit types
            return None

    @staticmethod
    def run(session, reference: Reference, feeds: dict) -> dict | None:
        if session is None or not (reference.narrow or reference.is_quantised):
            return None
        try:
            return dict(zip(reference.outputs, session.run(reference.outputs, feeds)))
        except Exception:
            return None

    def examine(self, tessera: str, configuration: str, seconds: float, timed: bool) -> dict:
        library = self.folder / f"{configuration}.so"
        dims = (likely_dims if configuration in CPU_MEASURED else empty_dims)(self.dims)
        status, said = start([tessera, "compile", str(self.path), "-o", str(library),
                              *dims, *CONFIGURATIONS[configuration]], seconds)
        problem = compile_problem(status, said.replace(f"{self.folder}/", ""), seconds)
        if problem:
            return problem
        for old in self.folder.glob("out*.npz"):
            old.unlink()
        (self.folder / "run.json").unlink(missing_ok=True)
        status, said = start([sys.executable, str(HERE / "execute.py"), str(library),
                              str(self.folder), *([str(self.path)] if timed else [])], seconds)
        library.unlink()
        problem = run_problem(status, said, seconds)
        return problem or self.judge(json.loads((self.folder / "run.json").read_text()),
                                     computed_in(self.entry, CONFIGURATIONS[configuration]))

    def judge(self, run: dict, kind: str) -> dict:
        errors, result, reordered = [], None, []
        for index, found in enumerate(run["sets"]):
            sizes, threads = index % 2, 1 + index // 2
            where = f"sizes {sizes}, {threads} thread{'s'[:threads - 1]}: "
            if "error" in found:
                result = result or outcome("refused", f"run: {where}{found['error']}")
                continue
            outputs = load_arrays(self.folder / f"out{index}.npz")
            error, wrong, told = compare(outputs, self.exact[sizes], self.same[sizes], kind,
                                         self.data_sizes)
            errors.append(error)
            reordered += [where + told] if told else []
            for name, wanted in self.types.items():
                if outputs[name].dtype != wanted:
                    wrong = wrong or f"{name} is of {outputs[name].dtype}, not {wanted}"
            if wrong:
                result = outcome("wrong", where + wrong)
            elif not found["repeats"]:
                result = result or outcome("nondeterministic", where + "two equal runs differ")
        result = result or outcome("ok", "; ".join(reordered))
        return result | {"error": max(errors, default=0.0), "times_us": run.get("times_us")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tessera")
    parser.add_argument("name")
    parser.add_argument("configurations")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=240)
    options = parser.parse_args()
    entry = next(m for m in read_manifest() if m["name"] == options.name)
    subject = Subject(entry, options.folder)
    for index, configuration in enumerate(options.configurations.split(",")):
        found = subject.examine(options.tessera, configuration, options.seconds, index == 0)
        print(json.dumps({"configuration": configuration} | found), flush=True)


if __name__ == "__main__":
    main()
