#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of what judges the zoo: each kind of fault is found, and nothing else is."""
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from onnx import TensorProto, helper  # noqa: E402

from hydrate import MODELS, hydrate, skeleton_path  # noqa: E402
from running.arrays import BFLOAT16, load_arrays, save_arrays  # noqa: E402
from running.compare import compare, computed_in  # noqa: E402
from running.configurations import CONFIGURATIONS  # noqa: E402
from running.data_sizes import data_sizes  # noqa: E402
from running.examine import compile_problem, run_problem, start  # noqa: E402
from running.expected import is_kind, kind_of, read_expected, surprise, updated  # noqa: E402
from running.manifest import FAMILIES, read_manifest  # noqa: E402

X = np.linspace(-1, 1, 50).astype(np.float32)


class Comparing(unittest.TestCase):
    def wrong(self, found, exact, same=None, kind="float32"):
        return compare({"y": found}, {"y": exact}, {"y": same} if same is not None else None,
                       kind)[1]

    def test_a_lost_element_is_wrong(self):
        y = X.copy()
        y[3] += 0.01
        self.assertIn("error 0.01", self.wrong(y, X))
        self.assertEqual(self.wrong(X * np.float32(1 + 1e-6), X), "")

    def test_what_onnxruntime_itself_loses_is_allowed_twice(self):
        same = X.copy()
        same[3] += 0.01
        y = X.copy()
        y[4] += 0.019
        self.assertEqual(self.wrong(y, X, same), "")
        self.assertNotEqual(self.wrong(y, X), "")

    def test_shapes_nans_and_infinities_must_agree(self):
        self.assertIn("shape", self.wrong(X[:-1], X))
        odd = X.copy()
        odd[0] = np.nan
        self.assertNotEqual(self.wrong(odd, X), "")
        self.assertNotEqual(self.wrong(X, odd), "")
        self.assertEqual(self.wrong(odd, odd), "")
        odd[0] = np.inf
        self.assertNotEqual(self.wrong(-odd, odd), "")

    def test_one_tie_is_allowed_and_no_other_permutation(self):
        order = np.arange(200)
        tie = order.copy()
        tie[[5, 6]] = tie[[6, 5]]
        self.assertEqual(self.wrong(tie, order), "")
        self.assertNotEqual(self.wrong(order[::-1], order), "")

    def test_a_biased_quantisation_is_wrong_below_the_largest_error(self):
        self.assertNotEqual(self.wrong(X + np.float32(0.03), X, kind="quantised"), "")

    def test_rows_that_the_data_decide_are_a_set_in_16_bits_alone(self):
        rows = np.arange(400, dtype=np.float32).reshape(100, 4)
        swapped = rows.copy()
        swapped[[5, 90]] = swapped[[90, 5]]

        def compared(found, kind="float16", sizes={"y": {0}}, wanted=rows):
            return compare({"y": found}, {"y": wanted}, None, kind, sizes)[1:]
        for found in (swapped, np.delete(rows, 7, 0), np.vstack([rows, rows[:5]])):
            wrong, told = compared(found)
            self.assertEqual(wrong, "")
            self.assertIn("as a set the rows are right", told)
            for kind, sizes in (("float32", {"y": {0}}), ("quantised", {"y": {0}}),
                                ("float16", {}), ("float16", {"y": {1}})):
                self.assertNotEqual(compared(found, kind, sizes)[0], "")
        self.assertEqual(compared(rows), ("", ""))
        shifted, integers = rows.copy(), np.arange(100)
        shifted[10:20] += 40
        for found in (shifted, rows[:, :3], rows[:90], rows[:0], rows.ravel()):
            self.assertNotEqual(compared(found)[0], "")
        self.assertEqual(compared(integers[::-1], wanted=integers)[0], "")
        self.assertNotEqual(compared(integers[::-1] + 6, wanted=integers)[0], "")
        self.assertEqual(compared(rows, wanted=rows[:0])[1], "")

    def test_sizes_that_the_data_decide_are_neither_numbers_nor_those_of_inputs(self):
        def model(op):
            x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 2])
            y = helper.make_tensor_value_info("y", TensorProto.INT64, [2, "rows", "found"])
            return helper.make_model(helper.make_graph([helper.make_node(op, ["x"], ["y"])], "g",
                                                       [x], [y]))
        self.assertEqual(data_sizes(model("NonZero")), {"y": {2}})
        self.assertEqual(data_sizes(model("Relu")), {})

    def test_a_precision_that_was_asked_for_decides(self):
        for variant, configuration, kind in (("dynamo20", "cuda_fp16", "float16"),
                                             ("dynamo20", "cuda", "float32"),
                                             ("qdq", "cuda_fp16", "quantised")):
            self.assertEqual(computed_in({"variant": variant}, CONFIGURATIONS[configuration]),
                             kind)


class Expecting(unittest.TestCase):
    EXPECTED = {("a", None): "E0302 operator `Foo` ... not supported", ("b", "onednn"): "E0504 x"}

    def told(self, model, configuration, kind, message=""):
        return surprise(self.EXPECTED, model, configuration, {"kind": kind, "message": message})

    def test_kinds_are_compared(self):
        self.assertTrue(is_kind("E0302 Foo ... supported", "E0302 Foo is not supported"))
        self.assertFalse(is_kind("E0302 Foo ... supported", "E0304 Foo is not supported"))
        self.assertFalse(is_kind("supported ... Foo", "Foo is not supported"))

    def test_refusals(self):
        listed = "E0302 operator `Foo` of opset 17 is not supported"
        self.assertEqual(self.told("a", "all", "refused", listed), "")
        self.assertIn("expects", self.told("a", "all", "refused", "E0203 shapes"))
        self.assertIn("expects a refusal", self.told("a", "all", "ok"))
        self.assertIn("not in the list", self.told("b", "all", "refused", "E0504 x"))
        self.assertEqual(self.told("b", "onednn", "refused", "E0504 x"), "")
        self.assertEqual(self.told("b", "all", "ok"), "")


    def test_an_update_keeps_what_holds(self):
        text = "# why\nold: E1 ... gone\nelsewhere: E1 x\n"
        results = {"old": {"all": {"kind": "ok", "message": ""}},
                   "new": {"all": {"kind": "refused",
                                   "message": "E0302 model.onnx: node `a: b`: no `Foo`"}}}
        self.assertEqual(updated(text, results),
                         "# why\nelsewhere: E1 x\nnew: E0302 ... no `Foo`\n")
        self.assertTrue(is_kind(kind_of(results["new"]["all"]["message"]),
                                results["new"]["all"]["message"]))


class Processes(unittest.TestCase):
    def kind(self, code, seconds=20.0):
        status, said = start([sys.executable, "-c", code], seconds)
        found = compile_problem(status, said, seconds)
        return found["kind"] if found else "ok"

    def test_classes_of_ends(self):
        self.assertEqual(self.kind("pass"), "ok")
        self.assertEqual(self.kind("import os; os.abort()"), "crash")
        self.assertEqual(self.kind("import time; time.sleep(60)", 0.5), "hang")
        say = "import sys; sys.stderr.write('{}'); sys.exit({})"
        self.assertEqual(self.kind(say.format("m: error[E0302]: no", 1)), "refused")
        self.assertEqual(self.kind(say.format("m: error[E0105]: g++", 1)), "crash")
        self.assertEqual(self.kind(say.format("internal error", 3)), "crash")
        self.assertEqual(self.kind(say.format("no code", 1)), "crash")
        self.assertEqual(run_problem(-11, "", 1)["kind"], "crash")

    def test_memory_is_limited(self):
        self.assertEqual(self.kind("x = bytearray(1 << 40)"), "crash")


class Files(unittest.TestCase):
    def test_manifest_and_models_agree(self):
        names = [m["name"] for m in read_manifest()]
        self.assertEqual(sorted(p.name for p in MODELS.iterdir()),
                         sorted(skeleton_path(n).name for n in names))
        self.assertLessEqual(sum(p.stat().st_size for p in MODELS.iterdir()), 10 << 20)

    def test_there_are_enough_of_each_family(self):
        models = read_manifest()
        self.assertGreaterEqual(len(models), 200)
        for family in FAMILIES:
            self.assertGreaterEqual(sum(m["family"] == family for m in models), 8, family)
        self.assertEqual({m["opset"] for m in models} & {17, 20, 23}, {17, 20, 23})

    def test_expected_refusals_name_models(self):
        names = {m["name"] for m in read_manifest()}
        self.assertEqual({model for model, _ in read_expected()} - names, set())

    def test_hydration_repeats(self):
        path = skeleton_path(read_manifest()[0]["name"])
        self.assertEqual(hydrate(path), hydrate(path))
        self.assertNotEqual(hydrate(path), hydrate(path, seed=1))

    def test_arrays_keep_their_types(self):
        arrays = {"a/b": X, "n": X.astype(BFLOAT16), "empty": np.zeros((0, 3), np.int64)}
        with tempfile.TemporaryDirectory() as folder:
            save_arrays(Path(folder) / "x.npz", arrays)
            found = load_arrays(Path(folder) / "x.npz")
        self.assertEqual(found.keys(), arrays.keys())
        for name, array in arrays.items():
            self.assertEqual(found[name].dtype, array.dtype)
            np.testing.assert_array_equal(found[name], array)


if __name__ == "__main__":
    unittest.main()
