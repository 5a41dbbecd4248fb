# SPDX-License-Identifier: Apache-2.0
"""The execution provider that the package has; tests/onnxruntime_provider tests what it does."""
import os
import pickle
import unittest
from pathlib import Path
from unittest import mock

import numpy as np
import tessera
from models import PRODUCT, onnx

try:
    import onnxruntime
except ImportError:
    onnxruntime = None

IS_THERE = (Path(tessera.__file__).parent / "lib" / "libtessera_onnxruntime.so").exists()


class Provider(unittest.TestCase):
    def test_a_package_without_it_says_so(self):
        with mock.patch("tessera.command.__file__", "/nowhere/command.py"), \
                self.assertRaises(tessera.Error) as caught:
            tessera.onnxruntime_library()
        error = pickle.loads(pickle.dumps(caught.exception))
        self.assertEqual(error.code, "E0502")
        self.assertIn("headers of onnxruntime", error.finding)
        self.assertIn("library", error.rule)
        self.assertIn("ONNXRUNTIME_ROOT", error.remedy)

    @unittest.skipUnless(IS_THERE and onnxruntime and onnx, "needs it, onnxruntime and onnx")
    @mock.patch.dict(os.environ)
    def test_a_session(self):
        onnxruntime.register_execution_provider_library("tessera", tessera.onnxruntime_library())
        options = onnxruntime.SessionOptions()
        options.add_provider_for_devices(
            [d for d in onnxruntime.get_ep_devices() if d.ep_name == "TesseraExecutionProvider"],
            {"threads": "1"})
        model = onnx.parser.parse_model(PRODUCT).SerializeToString()
        session = onnxruntime.InferenceSession(model, options, enable_fallback=0)
        x = np.ones((3, 4), np.float32)
        np.testing.assert_array_equal(session.run(None, {"x": x})[0], [[16, 20]] * 3)


if __name__ == "__main__":
    unittest.main()
