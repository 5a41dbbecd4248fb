# SPDX-License-Identifier: Apache-2.0
"""What can be wrong with what a model is given, and around it: an exception, or a safe end."""
import hashlib
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import unittest
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import tessera

import models


class BadInput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = tessera.Model(models.library(models.DENSE), threads=1)
        cls.x, cls.w = models.random(4, 8), models.random(16, 8)

    def refused(self, *arrays, kind=tessera.InputError, **options) -> str:
        with self.assertRaises(kind) as caught:
            self.model(*arrays, **options)
        error = caught.exception
        self.assertEqual(error.code, "E0601")
        self.assertRegex(error.rule, "^An input of the run ")
        return str(error)

    def test_number_type_and_shape(self):
        self.assertIn("1 input given", self.refused(self.x))
        self.assertIn("3 inputs given", self.refused(self.x, self.w, self.x))
        self.assertIn("float64", self.refused(self.x.astype(np.float64), self.w))
        self.assertIn(">f4", self.refused(self.x.astype(">f4"), self.w))
        self.assertIn("complex", self.refused(self.x.astype(np.complex64), self.w))
        self.assertIn("(4, 7)", self.refused(self.x[:, :7].copy(), self.w))
        self.assertIn("40 dimensions", self.refused(np.zeros((1,) * 40, np.float32), self.w))
        self.assertIn("1 dimension", self.refused(self.x[0], self.w))

    def test_what_is_no_array(self):
        for thing in ([1.0], 3, None, "x", object()):
            self.refused(thing, self.w, kind=TypeError)

    def test_names(self):
        for feeds in ({"x": self.x}, {"x": self.x, "v": self.w},
                      {"x": self.x, "w": self.w, "v": self.w}):
            with self.assertRaisesRegex(tessera.InputError, "the inputs are x, w, not "):
                self.model.run(feeds)

    def test_not_contiguous_is_copied_with_a_warning_once_or_refused(self):
        model = tessera.Model(models.library(models.TWO))
        x, y = models.random(12)[::2], models.random(6, seed=1)
        with self.assertWarnsRegex(tessera.TesseraWarning, "not contiguous: it is copied") as told:
            np.testing.assert_array_equal(model(x, y)[0], x + y)
        self.assertEqual(told.filename, __file__)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model(x, y)
        with self.assertRaisesRegex(tessera.InputError, "copy=False"):
            model(x, y, copy=False)

    def test_not_aligned(self):
        bytes_of_x = np.zeros(self.x.nbytes + 1, np.uint8)[1:]
        x = bytes_of_x.view(np.float32).reshape(self.x.shape)
        x[...] = self.x
        with self.assertRaisesRegex(tessera.InputError, "not aligned"):
            self.model(x, self.w, copy=False)
        with self.assertWarns(tessera.TesseraWarning):
            np.testing.assert_array_equal(self.model(x, self.w), self.model(self.x, self.w))

    def test_out(self):
        def out(array, kind=tessera.InputError):
            return self.refused(self.x, self.w, out=array, kind=kind)

        fixed = np.empty((4, 16), np.float32)
        fixed.flags.writeable = False
        self.assertIn("read-only", out(fixed))
        self.assertIn("contiguous", out(np.empty((16, 4), np.float32).T))
        self.assertIn("float64", out(np.empty((4, 16))))
        out(np.empty((3, 16), np.float32))
        out([])
        out([np.empty((4, 16), np.float32)] * 2)
        self.assertIn("memory", out(self.w.reshape(-1)[:64].reshape(4, 16)))

    def test_a_device_that_the_model_is_not_for(self):
        class OnDevice:
            def __dlpack_device__(self):
                return 2, 0

            def __dlpack__(self, **_):
                raise BufferError("there is no such device")

        with self.assertRaisesRegex(tessera.InputError, "give stream="):
            self.model(OnDevice(), self.w)
        with self.assertRaisesRegex(BufferError, "no such device"):
            self.model(OnDevice(), self.w, stream=0)
        # A number, and what torch and CuPy have.
        for stream in (1, np.int64(1), SimpleNamespace(cuda_stream=1), SimpleNamespace(ptr=1)):
            with self.assertRaisesRegex(tessera.InputError, "a stream was given"):
                self.model(self.x, self.w, out=np.empty((4, 16), np.float32), stream=stream)
        for stream in ("1", -1, 1.5, object()):
            with self.assertRaisesRegex(tessera.InputError, "is no CUDA stream"):
                self.model(self.x, self.w, stream=stream)
            with self.assertRaisesRegex(tessera.InputError, "is no CUDA stream"):
                self.model.bind_on_stream({"x": self.x, "w": self.w},
                                          {self.model.outputs[0].name: self.x}, stream)

    def test_a_closed_model(self):
        model = tessera.Model(models.library(models.DENSE))
        model.close()
        model.close()
        for use in (lambda: model(self.x, self.w), model.memory, lambda: model.profile(True),
                    lambda: model.set_weight("w", None)):
            with self.assertRaisesRegex(tessera.InputError, "closed"):
                use()


class BadSurroundings(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.x, self.w = models.random(4, 8), models.random(16, 8)

    def run_python(self, text: str, **environment) -> subprocess.CompletedProcess:
        path = os.pathsep.join(sys.path)
        return subprocess.run([sys.executable, "-c", text, str(self.folder)], text=True,
                              env=os.environ | {"PYTHONPATH": path} | environment,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)

    def test_a_file_that_is_no_library(self):
        file = self.folder / "model.so"

        def refused(why: str, code: str, path: Path) -> None:
            with self.assertRaisesRegex(tessera.RunError, why) as caught:
                tessera.Model(path)
            error = pickle.loads(pickle.dumps(caught.exception))
            self.assertNotIsInstance(error, tessera.InputError)
            self.assertEqual(error.code, code)
            self.assertTrue(error.remedy)

        refused("does not exist: check the path", "E0101", file)
        for content in (b"", b"nonsense" * 1000):
            file.write_bytes(content)
            refused("cannot load the library", "E0602", file)
        refused("no library of tessera", "E0602",
                next(Path(np.__file__).parent.glob("_core/_multiarray_umath*.so")))

    def test_another_cpu(self):
        library = models.library(models.DENSE, targets="cpu -mcpu=x86-64-v3", partition="none")
        said = self.run_python(
            "import tessera\n"
            f"try: tessera.Model({library!r})\n"
            "except tessera.MachineError as error: print(error.status, error.code, error.remedy)",
            TESSERA_DISABLE_CPU_FEATURES="avx2")
        self.assertRegex(said.stdout, "^3 E0602 .*targets=", said.stderr)

    def test_a_library_that_is_deleted_while_in_use(self):
        library = self.folder / "model.so"
        shutil.copy(models.library(models.LONG), library)
        model, x = tessera.Model(library, threads=1, instances=2), models.random(700, 700) / 30
        before, one = model(x), model.memory()["pool_bytes"]
        library.unlink()
        with ThreadPoolExecutor(2) as threads:  # what they meet in makes another instance
            for _ in range(100):
                for after in threads.map(model, [x, x]):
                    np.testing.assert_array_equal(after, before)
                if model.memory()["pool_bytes"] > one:
                    break
        self.assertEqual(model.memory()["pool_bytes"], 2 * one)
        with self.assertRaises(tessera.RunError):
            tessera.Model(library)

    def test_a_library_that_is_compiled_again_is_the_new_one(self):
        library = self.folder / "model.so"
        old = tessera.compile(models.DENSE, library, progress=False)
        zero = old(self.x, self.w)
        for operator in ("negative", "exp", "nn.relu"):
            text = models.DENSE.replace("nn.relu", operator)
            new = tessera.compile(text, library, progress=False)
            wanted = {"negative": np.negative, "exp": np.exp,
                      "nn.relu": lambda a: np.maximum(a, 0)}[operator](self.x @ self.w.T)
            np.testing.assert_allclose(new(self.x, self.w), wanted, rtol=1e-4, atol=1e-5)
            np.testing.assert_array_equal(old(self.x, self.w), zero)

    def test_a_library_that_is_written_over_is_not_the_old_one(self):
        library = self.folder / "model.so"
        shutil.copy(models.library(models.DENSE), library)
        # The loader's old one has lost its code: nothing of it is called any more, nor closed.
        said = self.run_python(f"""
import os, shutil, tessera
old = tessera.Model({str(library)!r})
with open({models.library(models.TWO)!r}, "rb") as new, open({str(library)!r}, "r+b") as file:
    file.write(new.read())
try:
    tessera.Model({str(library)!r})
except tessera.RunError as error:
    print(error, flush=True)
os._exit(0)
""")
        self.assertIn("has changed since a model loaded it", said.stdout, said.stderr)

    def test_two_processes_that_compile_to_one_output(self):
        text = ("import sys, tessera, models\n"
                "tessera.compile(models.LONG, sys.argv[1] + '/model.so', progress=False)")
        path, output, seen = os.pathsep.join(sys.path), self.folder / "model.so", set()
        both = [subprocess.Popen([sys.executable, "-c", text, str(self.folder)],
                                 env=os.environ | {"PYTHONPATH": path}) for _ in range(2)]
        while any(process.poll() is None for process in both):
            if output.exists():
                seen.add(hashlib.sha256(output.read_bytes()).digest())
        self.assertEqual([process.returncode for process in both], [0, 0])
        self.assertEqual([f.name for f in self.folder.iterdir()], ["model.so"])
        # It was whole whenever it was there: both write the same bytes.
        self.assertLessEqual(seen, {hashlib.sha256(output.read_bytes()).digest()})
        tessera.Model(output)(models.random(700, 700))

    def test_the_interpreter_ends_with_live_instances_and_running_threads(self):
        library = models.library(models.LONG)
        said = self.run_python(f"""
import threading, numpy as np, tessera, sys
model = tessera.Model({library!r}, threads=2, instances=2)
x = np.ones((700, 700), np.float32)
def work():
    while True:
        model(x)
def bind():
    while True:
        call = model.bind({{model.inputs[0].name: x}})
        call()
        call.fetch()
def load():
    while True:
        tessera.Model({library!r})(x)
for target in 4 * [work] + [bind, load]:  # more than instances
    threading.Thread(target=target, daemon=True).start()
model(x)
sys.modules["kept"] = model, model(x)
print("done")
""")
        self.assertEqual((said.returncode, said.stdout), (0, "done\n"), said.stderr)
        self.assertNotIn("Fatal", said.stderr)
        self.assertNotIn("terminate", said.stderr)


if __name__ == "__main__":
    unittest.main()
