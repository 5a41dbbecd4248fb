#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of `tessera bench --profile` and `--trace`: what kernels compute and move, the table, and
the trace.

    profile_test.py TESSERA
"""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

TESSERA = sys.argv.pop(1)
WIDTH, HEIGHT, ROWS = 64, 32, 50000


def model_of(op: str, inputs: list, weights: dict, more=()) -> bytes:
    nodes = [helper.make_node(op, [*(v.name for v in inputs), *weights]
                              if op != "Gather" else [*weights, inputs[0].name], ["m"]),
             *more, helper.make_node("Identity", ["m" if not more else "r"], ["y"])]
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    return helper.make_model(
        helper.make_graph(nodes, "g", inputs, [y],
                          [numpy_helper.from_array(w, n) for n, w in weights.items()]),
        opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


class Profile(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_tool(self, *args) -> str:
        return subprocess.run([TESSERA, *map(str, args)], check=True, capture_output=True,
                              text=True).stdout

    def library(self, model, *options) -> Path:
        save(model, self.folder / "m.onnx")
        self.run_tool("compile", self.folder / "m.onnx", "-o", self.folder / "m.so", *options)
        return self.folder / "m.so"

    def bench(self, what: Path, x: np.ndarray, *options) -> str:
        np.save(self.folder / "x.npy", x)
        return self.run_tool("bench", what, "--inputs", self.folder, "--seconds", "0", "--threads",
                             "1", *options)

    def rows(self, what: Path, x: np.ndarray) -> list[dict]:
        return json.loads(self.bench(what, x, "--json", "--profile"))["profile"]["kernels"]

    def product(self, relu: bool = False):
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", WIDTH])
        more = [helper.make_node("Relu", ["m"], ["r"])] if relu else []
        return model_of("MatMul", [x], {"w": np.ones((WIDTH, HEIGHT), np.float32)}, more)

    def test_flops_and_bytes_follow_open_sizes_in_each_back_end(self):
        for target in ("cpu", "onednn", "blas"):
            options = ["--target", "cpu"] if target == "cpu" else ["--backends", target]
            library = self.library(self.product(), *options)
            for n in (1, 7):
                rows = self.rows(library, np.ones((n, WIDTH), np.float32))
                self.assertEqual(sum(r["flops"] for r in rows), 2 * n * WIDTH * HEIGHT, target)
                self.assertGreaterEqual(sum(r["bytes"] for r in rows),
                                        4 * (n * WIDTH + WIDTH * HEIGHT + n * HEIGHT), target)

    def test_a_region_of_many_operators_has_their_sum(self):
        rows = self.rows(self.library(self.product(relu=True)), np.ones((3, WIDTH), np.float32))
        self.assertEqual(sum(r["flops"] for r in rows), 2 * 3 * WIDTH * HEIGHT + 3 * HEIGHT)

    def test_of_a_table_what_is_taken_counts(self):
        x = helper.make_tensor_value_info("x", TensorProto.INT64, ["n"])
        model = model_of("Gather", [x], {"t": np.ones((ROWS, WIDTH), np.float32)})
        rows = self.rows(self.library(model), np.zeros(2, np.int64))
        taken = next(r for r in rows if "take" in r["kernel"])
        self.assertEqual(taken["bytes"], 2 * 8 + 2 * 2 * 4 * WIDTH)

    def test_a_model_in_this_process_has_the_figures_of_its_library(self):
        library, x = self.library(self.product()), np.ones((5, WIDTH), np.float32)
        figures = [[(r["kernel"], r["flops"], r["bytes"]) for r in self.rows(what, x)]
                   for what in (library, self.folder / "m.onnx")]
        self.assertEqual(sorted(figures[0]), sorted(figures[1]))

    def test_the_table_begins_with_the_roof_and_marks_what_is_far_below(self):
        library = self.library(self.product(relu=True), "--target", "cpu")
        table = self.bench(library, np.ones((1, WIDTH), np.float32), "--profile")
        lines = table.splitlines()
        self.assertRegex(lines[1], r"^roof of 1 thread: \d+\.\d GFLOP/s in float32, \d+\.\d GB/s$")
        self.assertEqual(lines[2].split(), ["kernel", "back", "end", "calls", "us", "share",
                                            "GFLOP/s", "GB/s", "of", "roof"])
        for line in lines[3:]:
            part = float(line.split("%")[-2].split()[-1])
            if abs(part - 20) > 0.1:  # as it is rounded
                self.assertEqual("off" in line, part < 20, line)
        self.assertNotIn("roof", self.bench(library, np.ones((1, WIDTH), np.float32)))

    def trace(self, what: Path, n: int = 3) -> tuple[list[dict], list[dict]]:
        """The spans of a trace, and the rows of the profile beside it."""
        trace = self.folder / "trace.json"
        printed = self.bench(what, np.ones((n, WIDTH), np.float32), "--json", "--profile",
                             "--trace", trace)
        events = json.loads(trace.read_text())["traceEvents"]
        names = {e["args"]["name"] for e in events if e["ph"] == "M"}
        self.assertEqual(names, {"tessera", "host"})
        return ([e for e in events if e["ph"] == "X"],
                json.loads(printed)["profile"]["kernels"])

    def check_nesting(self, spans: list[dict]) -> dict[str, set[str]]:
        """That each span lies in the one above, and begins no sooner than the one before. Returns
        the categories below each, by category."""
        depth = {"run": 0, "host": 1, "back end": 1}
        open_spans, below, before = [], {}, 0
        for span in spans:
            begin, end = span["ts"], round(span["ts"] + span["dur"], 3)
            self.assertGreaterEqual(begin, before)
            self.assertGreaterEqual(span["dur"], 0)
            before = begin
            # An end may be the next one's begin, so that times do not tell which are open.
            del open_spans[depth.get(span["cat"], 2):]
            for _, begin_around, end_around in open_spans:
                self.assertLessEqual(begin_around, begin, span)
                self.assertLessEqual(end, end_around, span)
            below.setdefault(open_spans[-1][0] if open_spans else "", set()).add(span["cat"])
            open_spans.append((span["cat"], begin, end))
        return below

    def test_a_trace_has_runs_back_ends_and_kernels_that_nest(self):
        self.library(self.product(relu=True))
        for what in (self.folder / "m.so", self.folder / "m.onnx"):
            spans, rows = self.trace(what)
            below = self.check_nesting(spans)
            self.assertEqual(below[""], {"run"})
            self.assertEqual(below["run"], {"host", "back end"})
            backends = {row["backend"] for row in rows}
            self.assertEqual(below["back end"], backends)
            self.assertEqual({s["name"] for s in spans if s["cat"] == "back end"}, backends)
            kernels = [s for s in spans if s["cat"] in backends]
            self.assertEqual({(s["name"], s["cat"]) for s in kernels},
                             {(r["kernel"], r["backend"]) for r in rows})
            runs = [s["name"] for s in spans if s["cat"] == "run"]
            self.assertEqual(runs, [f"run {i + 1}" for i in range(len(runs))])
            self.assertEqual(len(kernels), len(runs) * sum(r["calls"] for r in rows))

    def test_of_a_kernel_in_a_loop_a_trace_has_the_last_call(self):
        body = helper.make_graph(
            [helper.make_node("Identity", ["c"], ["c2"]), helper.make_node("Sin", ["v"], ["v2"])],
            "body", [helper.make_tensor_value_info("i", TensorProto.INT64, []),
                     helper.make_tensor_value_info("c", TensorProto.BOOL, []),
                     helper.make_tensor_value_info("v", TensorProto.FLOAT, [3, WIDTH])],
            [helper.make_tensor_value_info("c2", TensorProto.BOOL, []),
             helper.make_tensor_value_info("v2", TensorProto.FLOAT, [3, WIDTH])])
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, WIDTH])
        # How often is an input, so that no pass unrolls it.
        times = helper.make_tensor_value_info("times", TensorProto.INT64, [])
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, WIDTH])
        graph = helper.make_graph([helper.make_node("Loop", ["times", "", "x"], ["y"], body=body)],
                                  "g", [x, times], [y])
        library = self.library(helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
        np.save(self.folder / "times.npy", np.array(7))
        spans, _ = self.trace(library)
        self.check_nesting(spans)
        sines = [s for s in spans if "sin" in s["name"]]
        self.assertTrue(sines)
        for span in sines:
            self.assertEqual(span["args"]["calls"], 7)
            self.assertGreaterEqual(span["args"]["total_us"], span["dur"])

    def test_a_trace_that_cannot_be_written_is_an_error(self):
        library = self.library(self.product())
        done = subprocess.run([TESSERA, "bench", library, "--seconds", "0", "--trace",
                               self.folder / "none" / "t.json"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("E0103", done.stderr)


if __name__ == "__main__":
    unittest.main()
