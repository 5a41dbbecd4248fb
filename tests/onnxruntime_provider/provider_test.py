#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The execution provider in onnxruntime, beside onnxruntime's own. TESSERA_PROVIDER is the library;
where it was not built, all is skipped, unless TESSERA_TESTS_REQUIRE names onnxruntime-headers."""
import json
import os
import sys
import tempfile
import threading
import unittest
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import parser

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python" / "tests"))
from requirement import needs  # noqa: E402

NAME = "TesseraExecutionProvider"
HEAD = '<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1]>\n'
DENSE = HEAD + """g (float[batch, 4] x) => (float[batch, 3] y)
<float[4, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}> { m = MatMul(x, w) y = Relu(m) }"""
# A part in the middle that no model's library can have.
STRINGS = HEAD + """g (float[n] x) => (float[n] y, float[n] z) {
 a = Exp(x) b = Neg(a) text = Cast<to = 8>(b) back = Cast<to = 1>(text) y = Add(back, a) c = Neg(x)
 z = Mul(c, a) }"""
BRANCH = HEAD + """g (float[3] x) => (float[3] y) <float[3] w = {1, 2, 3}> {
 a = Exp(x) total = ReduceSum<keepdims = 0>(x) zero = Constant<value = float {0}>()
 c = Greater(total, zero)
 y = If (c) <then_branch = t () => (float[3] p) { p = Add(a, w) },
             else_branch = e () => (float[3] q) { q = Mul(a, x) }> }"""
# A body that reads what no model's library can have.
SEQUENCE = HEAD + """g (bool[1] c, float[n] x) => (float[k] y) {
 a = Exp(x) s = SequenceConstruct(a, x) zero = Constant<value = int64 {0}>()
 i = If (c) <then_branch = t () => (float[p] b) { b = SequenceAt(s, zero) },
             else_branch = e () => (float[q] d) { d = Neg(a) }> y = Abs(i) }"""
DATA = HEAD + """g (float[n, m] x) => (int64[2, k] y, float[n, m] z) {
 y = NonZero(x) z = Abs(x) }"""
PARTS = HEAD + """g (float[2, n] x) => (float[2, k] a, float[2, l] b, float s) {
 one = Constant<value = int64[1] {1}>() three = Constant<value = int64[1] {3}>()
 a = Slice(x, one, three, one) b = Concat<axis = 1>(x, x) s = ReduceSum<keepdims = 0>(x) }"""
LARGE = HEAD + "g (float[n, 64] x) => (float[n, 64] y) { m = MatMul(x, w) y = Tanh(m) }"

LIBRARY = os.environ["TESSERA_PROVIDER"]
if os.path.exists(LIBRARY):
    ort.register_execution_provider_library("tessera", LIBRARY)
    DEVICES = [device for device in ort.get_ep_devices() if device.ep_name == NAME]


def session(model: bytes, provider: bool, **options) -> ort.InferenceSession:
    wanted = ort.SessionOptions()
    wanted.log_severity_level = 3
    if provider:
        wanted.add_provider_for_devices(DEVICES, {"threads": "1"} | options)
    return ort.InferenceSession(model, sess_options=wanted, enable_fallback=0)


def made(text: str, **weights: np.ndarray) -> bytes:
    model = parser.parse_model(text)
    for name, value in weights.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(value, name))
    return model.SerializeToString()


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape, dtype=np.float32)


def nodes_of(model: bytes, **options) -> list[str]:
    """The providers of the nodes that run: a group of the provider's is one."""
    with tempfile.TemporaryDirectory() as folder:
        wanted = ort.SessionOptions()
        wanted.log_severity_level = 3
        wanted.enable_profiling = True
        wanted.profile_file_prefix = str(Path(folder) / "p")
        wanted.add_provider_for_devices(DEVICES, {"threads": "1"} | options)
        run = ort.InferenceSession(model, sess_options=wanted)
        feeds = {i.name: np.ones([s if isinstance(s, int) else 3 for s in i.shape],
                                 bool if i.type == "tensor(bool)" else np.float32)
                 for i in run.get_inputs()}
        run.run(None, feeds)
        events = json.loads(Path(run.end_profiling()).read_text(encoding="utf-8"))
        return [e["args"]["provider"] for e in events if "provider" in e.get("args", {})]


@needs("onnxruntime-headers", os.path.exists(LIBRARY))
class Provider(unittest.TestCase):
    def same(self, model: bytes, *feeds: dict, **options):
        ours, theirs = session(model, True, **options), session(model, False)
        for feed in feeds:
            for got, wanted in zip(ours.run(None, feed), theirs.run(None, feed), strict=True):
                self.assertEqual((got.dtype, got.shape), (wanted.dtype, wanted.shape))
                np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)
        return ours

    def test_a_whole_graph_with_sizes_that_change(self):
        model = made(DENSE)
        self.same(model, *[{"x": random(rows, 4)} for rows in (2, 5, 1, 0)])
        self.assertEqual(nodes_of(model), [NAME])

    def test_what_is_refused_runs_elsewhere(self):
        model = made(STRINGS)
        self.same(model, *[{"x": np.arange(n, dtype=np.float32)} for n in (4, 7)])
        providers = nodes_of(model)
        self.assertIn(NAME, providers)
        self.assertIn("CPUExecutionProvider", providers)

    def test_branches(self):
        model = made(BRANCH)
        self.same(model, {"x": abs(random(3))}, {"x": -abs(random(3))})
        self.assertEqual(nodes_of(model), [NAME])

    def test_bodies_that_read_a_sequence(self):
        self.same(made(SEQUENCE), *[{"c": np.array([c]), "x": random(4)} for c in (True, False)])

    def test_attributes_of_all_kinds(self):
        tree = onnx.helper.make_node(
            "TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", n_targets=1,
            aggregate_function="SUM", post_transform="NONE", nodes_treeids=[0, 0, 0],
            nodes_nodeids=[0, 1, 2], nodes_featureids=[1, 0, 0], nodes_values=[0.25, 0.0, 0.0],
            nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids=[1, 0, 0],
            nodes_falsenodeids=[2, 0, 0], target_treeids=[0, 0], target_nodeids=[1, 2],
            target_ids=[0, 0], target_weights=[1.5, -2.0])
        leaky = onnx.helper.make_node("LeakyRelu", ["y"], ["z"], alpha=0.5)
        value = onnx.helper.make_tensor_value_info
        graph = onnx.helper.make_graph([tree, leaky], "g", [value("x", 1, ["n", 3])],
                                       [value("z", 1, ["n", 1])])
        model = onnx.helper.make_model(graph, ir_version=8, opset_imports=[
            onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("ai.onnx.ml", 3)])
        self.same(model.SerializeToString(), {"x": random(9, 3)})
        self.assertEqual(nodes_of(model.SerializeToString()), [NAME])

    def test_sizes_that_data_decide(self):
        x = np.round(random(3, 5))
        self.same(made(DATA), {"x": x}, {"x": np.zeros((2, 2), np.float32)})

    def test_several_results_and_a_scalar(self):
        self.same(made(PARTS), {"x": random(2, 6)}, {"x": random(2, 9)})

    def test_weights_in_a_file_and_inputs_that_are_not_aligned(self):
        model = made(LARGE, w=random(64, 64) / 8)
        rows = np.zeros(5 * 256 + 4, np.uint8)[4:].view(np.float32).reshape(5, 64)
        rows[...] = random(5, 64)
        self.same(model, {"x": rows})

    def test_bodies_with_constants_of_the_graph_around_them(self):
        text = BRANCH.replace(" <float[3] w = {1, 2, 3}>", "")
        self.same(made(text, w=np.ones(3, np.float32)), {"x": random(3)})

    def test_bodies_whose_constants_have_the_same_name(self):
        text = BRANCH.replace(" <float[3] w = {1, 2, 3}>", "")
        text = text.replace("(float[3] p)", "(float[3] p) <float[3] w = {1, 2, 3}>")
        text = text.replace("(float[3] q)", "(float[3] q) <float[3] w = {4, 5, 6}>")
        model = made(text.replace("Mul(a, x)", "Mul(a, w)"))
        self.same(model, {"x": abs(random(3))}, {"x": -abs(random(3))})
        self.assertEqual(nodes_of(model), [NAME])

    def test_an_initializer_that_an_input_replaces(self):
        model = onnx.load_model_from_string(made(LARGE, w=random(64, 64) / 8))
        model.graph.input.append(onnx.helper.make_tensor_value_info("w", 1, [64, 64]))
        feed = {"x": random(3, 64)}
        self.same(model.SerializeToString(), feed, feed | {"w": random(64, 64)})

    def test_an_input_without_a_rank(self):
        single = HEAD + "g (float[n, 4] x) => (float[n, 4] y) { a = Exp(x) y = Neg(a) }"
        for text in (DENSE, single):
            model = onnx.load_model_from_string(made(text))
            model.graph.input[0].type.tensor_type.ClearField("shape")
            self.same(model.SerializeToString(), {"x": random(3, 4)}, {"x": random(2, 4)})

    def test_an_input_that_is_a_scalar(self):
        model = made(HEAD + "g (float x, float[n] z) => (float[n] y) { a = Exp(x) y = Add(a, z) }")
        self.same(model, {"x": np.array(2, np.float32), "z": random(3)})

    def test_half_precision(self):
        model = made(HEAD + """g (float16[n, 8] x) => (float16[n, 8] y) {
          a = Exp(x) y = Add(a, x) }""")
        x = random(3, 8).astype(np.float16)
        np.testing.assert_allclose(session(model, True).run(None, {"x": x})[0],
                                   np.exp(x) + x, rtol=4e-3)

    def test_two_sessions(self):
        first, second = session(made(DENSE), True), session(made(PARTS), True)
        del first
        self.assertEqual(second.run(None, {"x": random(2, 6)})[0].shape, (2, 2))

    def test_threads(self):
        run = session(made(LARGE, w=random(64, 64) / 8), True)
        wanted = {rows: run.run(None, {"x": random(rows, 64)})[0] for rows in range(1, 9)}
        wrong = []

        def work():
            for rows in list(wanted) * 5:
                got = run.run(None, {"x": random(rows, 64)})[0]
                if not np.array_equal(got, wanted[rows]):
                    wrong.append(rows)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_an_index_outside(self):
        model = made(HEAD + """g (float[n, 2] x, int64[k] i) => (float[k, 2] y) {
          g = Gather<axis = 0>(x, i) y = Exp(g) }""")
        run = session(model, True)
        feed = {"x": random(3, 2), "i": np.array([0, 7])}
        with self.assertRaisesRegex(Exception, "index 7"):
            run.run(None, feed)
        run.run(None, feed | {"i": np.array([0, 2])})

    def test_options(self):
        model = made(DENSE)
        self.same(model, {"x": random(2, 4)}, options="--backends ccompiler")
        with self.assertRaisesRegex(Exception, "threads"):
            session(model, True, threads="many")
        with self.assertRaisesRegex(Exception, "there is no `/nowhere/tessera`"):
            session(model, True, command="/nowhere/tessera")

    def test_nothing_is_left_behind(self):
        def folders() -> set[str]:
            return set(Path(tempfile.gettempdir()).glob("tessera-onnxruntime*"))
        before = folders()
        run = session(made(DENSE), True)
        made_for_it = folders() - before
        self.assertEqual([[file.name for file in folder.iterdir()] for folder in made_for_it],
                         [["model.so"]])
        del run
        self.assertEqual(folders() - before, set())


if __name__ == "__main__":
    unittest.main()
