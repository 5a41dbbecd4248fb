# SPDX-License-Identifier: Apache-2.0
"""That the programs of examples/python run."""
import json
import os
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from models import PRODUCT, onnx, torch
from requirement import needs

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "python"
W = np.arange(1, 9).reshape(4, 2)


@unittest.skipIf(onnx is None or not EXAMPLES.exists(), "needs the package onnx, and the examples")
class Examples(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.model = str(Path(folder.name) / "model.onnx")
        onnx.save(onnx.parser.parse_model(PRODUCT), self.model)

    def start(self, name: str, *arguments: str) -> subprocess.Popen:
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        return subprocess.Popen([sys.executable, EXAMPLES / name, *arguments], text=True,
                                stdout=subprocess.PIPE, env=environment)

    def test_first_model(self):
        with self.start("first_model.py", self.model, "batch=3") as process:
            said = process.stdout.read()
        self.assertEqual(process.returncode, 0)
        self.assertIn("y: float32[3, 2]", said)

    @needs("torch", torch is not None)
    def test_torch_compile(self):
        with self.start("torch_compile.py") as process:
            said = process.stdout.read()
        self.assertRegex(said, r"9 words: largest difference \d\.\de-0[5-9]")
        self.assertIn("2 graphs compiled, 0 in torch", said)

    @needs("torch", torch is not None)
    def test_torch_module(self):
        with self.start("torch_module.py") as process:
            said = process.stdout.read()
        self.assertRegex(said, r"batch 64: largest difference \d\.\de-0[5-9]")

    def test_server(self):
        process = self.start("server.py", self.model, "--port", "0")
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        address = process.stdout.readline().strip()

        def ask(feeds) -> dict:
            request = urllib.request.Request(address, json.dumps(feeds).encode())
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)

        def check(seed: int) -> None:
            x = np.random.default_rng(seed).integers(-9, 9, (seed % 5 + 1, 4))
            np.testing.assert_array_equal(ask({"x": x.tolist()})["y"], x @ W)

        with ThreadPoolExecutor(16) as clients:
            list(clients.map(check, range(100)))
        for wrong, why in (({}, "missing"), ({"x": [1]}, "dimension"), ({"x": "?"}, "convert")):
            with self.assertRaises(urllib.error.HTTPError) as caught:
                ask(wrong)
            self.assertEqual(caught.exception.code, 400)
            with caught.exception as error:
                self.assertIn(why, json.load(error)["error"])
        process.terminate()
        self.assertEqual(process.wait(60), 0)


if __name__ == "__main__":
    unittest.main()
