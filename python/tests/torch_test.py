# SPDX-License-Identifier: Apache-2.0
"""Modules and tensors of torch. Skipped where there is none, unless TESSERA_TESTS_REQUIRE names
torch: it is no dependency, and its wheel is large. With a Python that has torch, onnx and
onnxscript:

    PYTHONPATH=build/release/python PYTHON -m unittest discover -s python/tests -p torch_test.py
"""
import subprocess
import sys
import unittest
import warnings

import numpy as np
import tessera

from requirement import needs

try:
    import torch
    torch.onnx._internal.exporter  # noqa: B018: it is there
    import onnxscript  # noqa: F401
    # It warns of itself.
    warnings.filterwarnings("ignore", module="torch")
except ImportError:
    torch = None


# Bytes: of the weights, by which this process has grown with the module, and the compiler's.
MEMORY = """
import resource, sys, warnings
import tessera, torch
warnings.simplefilter("ignore")

def compile(module, size):
    x = torch.randn(1, size)
    report = tessera.compile(module, example_inputs=(x,), progress=False).report
    return report.data["peak_bytes"]

def own():
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

least, before = compile(torch.nn.Linear(4, 4), 4), own()
module = torch.nn.Sequential(*(torch.nn.Linear(4096, 4096) for _ in range(4)))
there = compile(module, 4096) - least
print(sum(p.nbytes for p in module.parameters()), own() - before, there)
"""


def make(*arguments, **options):
    return tessera.compile(*arguments, progress=False, **options)


@needs("torch", torch is not None)
class Torch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.manual_seed(0)
        cls.module = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(),
                                         torch.nn.Linear(16, 4), torch.nn.Dropout(0.5))
        cls.eager = lambda x: cls.module.eval()(x).detach()

    def same(self, model, x):
        y = model(x)
        self.assertIsInstance(y, torch.Tensor)
        torch.testing.assert_close(y, type(self).eager(x), rtol=1e-4, atol=1e-5)

    def test_fixed_sizes(self):
        x = torch.randn(3, 8)
        self.module.train()
        model = make(self.module, example_inputs=(x,))
        self.assertTrue(self.module.training)
        self.same(model, x)
        self.assertEqual(model.inputs[0].shape, (3, 8))

    def test_ranges_are_carried_over(self):
        batch = torch.export.Dim("batch", min=1, max=32)
        model = make(self.module, example_inputs=(torch.randn(3, 8),),
                     dynamic_shapes=({0: batch},))
        port = model.inputs[0]
        self.assertEqual((port.shape, port.min_shape, port.max_shape),
                         ((None, 8), (1, 8), (32, 8)))
        for rows in (1, 2, 32):
            self.same(model, torch.randn(rows, 8))
        with self.assertRaises(tessera.InputError):
            model(torch.randn(33, 8))

    def test_sizes_without_a_name_or_a_bound(self):
        for size in (torch.export.Dim.DYNAMIC, torch.export.Dim.AUTO):
            model = make(self.module, example_inputs=(torch.randn(3, 8),),
                         dynamic_shapes=({0: size},))
            self.same(model, torch.randn(50, 8))

    def test_arguments_by_name(self):
        class Scaled(torch.nn.Module):
            def forward(self, x, offset=None, *, scale):
                return x * scale if offset is None else x * scale + offset

        module, batch = Scaled(), torch.export.Dim("batch", min=1, max=32)
        x, scale = torch.randn(3, 8), torch.randn(8)
        model = make(module, example_inputs={"x": x, "scale": scale},
                     dynamic_shapes={"x": {0: batch}, "scale": None})
        self.assertEqual([(p.name, p.shape) for p in model.inputs],
                         [("x", (None, 8)), ("scale", (8,))])
        self.assertEqual(model.inputs[0].max_shape, (32, 8))
        for x in (x, torch.randn(32, 8)):
            torch.testing.assert_close(model(x, scale), module(x, scale=scale))

    def test_tensors(self):
        model = make(self.module, example_inputs=torch.randn(3, 8))
        x = torch.randn(3, 8)
        with self.assertWarns(tessera.TesseraWarning):
            self.same(model, torch.randn(8, 3).t())
        odd = torch.frombuffer(bytearray(x.nbytes + 1), dtype=x.dtype, offset=1).reshape(3, 8)
        with self.assertWarns(tessera.TesseraWarning):
            self.same(tessera.Model(model.path), odd.copy_(x))
        out = torch.full((3, 4), torch.nan)
        self.assertIs(model(x, out=out), out)
        torch.testing.assert_close(out, type(self).eager(x), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(model(x.numpy()), out, rtol=1e-5)
        with self.assertRaisesRegex(BufferError, "grad"):
            model(x.clone().requires_grad_())
        with self.assertRaisesRegex(tessera.InputError, "float64"):
            model(x.double())

    def test_bfloat16(self):
        class Double(torch.nn.Module):
            def forward(self, x):
                return x + x

        x = torch.randn(5, 6).bfloat16()
        model = make(Double(), example_inputs=(x,))
        y = model(x)
        self.assertEqual(y.dtype, torch.bfloat16)
        torch.testing.assert_close(y, x + x)
        torch.testing.assert_close(model(torch.randn(6, 5).bfloat16().t().copy_(x)), x + x)

    def test_what_torch_has_exported(self):
        x = torch.randn(3, 8)
        program = torch.export.export(self.module.eval(), (x,))
        for model in (program, torch.onnx.export(program, dynamo=True, verbose=False)):
            self.same(make(model), x)
            with self.assertRaises(tessera.UsageError):
                make(model, example_inputs=(x,))

    def test_memory_does_not_grow_by_copies_of_the_weights(self):
        """Beside the module there are one and a fifth of its weights at most, of this process and
        of the compiler's, and their file."""
        said = subprocess.run([sys.executable, "-c", MEMORY], check=True, text=True,
                              stdout=subprocess.PIPE).stdout
        weights, here, there = map(float, said.split())
        self.assertGreater(weights, 260e6)
        self.assertLess((here + there) / weights, 2.2, said)

    def test_what_is_refused(self):
        with self.assertRaises(tessera.UsageError):
            make(self.module)

        class Unknown(torch.nn.Module):
            def forward(self, x):
                return torch.linalg.svd(x)[0]

        with self.assertRaises(Exception):
            make(Unknown(), example_inputs=(torch.randn(3, 3),))


if __name__ == "__main__":
    unittest.main()
