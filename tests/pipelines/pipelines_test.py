#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of pipelines of scikit-learn: compiled, they say what scikit-learn says.

    pipelines_test.py TESSERA
"""
import gzip
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tests" / "abi"))

import numpy as np  # noqa: E402
import ctypes_model as tessera  # noqa: E402

TESSERA = sys.argv.pop(1)
MODELS = HERE / "models"
NAMES = sorted(p.name.removesuffix(".onnx.gz") for p in MODELS.glob("*.onnx.gz"))
CONFIGURATIONS = ([], ["--target", "cpu"])
ALLOWED = 2e-5  # of the largest value: scikit-learn computes in float64


class Pipelines(unittest.TestCase):
    def compiled(self, name: str, folder: Path, options: list[str]) -> Path:
        path = folder / "m.onnx"
        path.write_bytes(gzip.decompress((MODELS / f"{name}.onnx.gz").read_bytes()))
        subprocess.run([TESSERA, "compile", str(path), "-o", str(folder / "m.so"), *options],
                       check=True, stdout=subprocess.DEVNULL)
        return folder / "m.so"

    def check(self, found: dict, wanted: dict, rows: slice) -> None:
        self.assertEqual(found.keys(), wanted.keys())
        for output, values in wanted.items():
            values = values[rows]
            self.assertEqual(found[output].shape, values.shape)
            if values.dtype.kind == "f":
                error = np.abs(found[output] - values).max(initial=0)
                self.assertLess(error, ALLOWED * np.abs(wanted[output]).max())
            else:
                np.testing.assert_array_equal(found[output], values)

    def test_they_say_what_scikit_learn_says(self):
        self.assertGreaterEqual(len(NAMES), 6)
        for name in NAMES:
            data = dict(np.load(MODELS / f"{name}.npz"))
            x = data.pop("X")
            for options in CONFIGURATIONS:
                with self.subTest(name=name, options=options), \
                        tempfile.TemporaryDirectory() as folder:
                    library = self.compiled(name, Path(folder), options)
                    with tessera.Model(library, threads=2) as model:
                        for rows in (slice(None), slice(3, 4), slice(None)):
                            self.check(model.run({"X": x[rows]}), data, rows)


if __name__ == "__main__":
    unittest.main()
