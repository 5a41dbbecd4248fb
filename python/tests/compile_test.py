# SPDX-License-Identifier: Apache-2.0
"""What `tessera.compile` takes, tells and refuses."""
import contextlib
import io
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings
from pathlib import Path
from unittest import mock

import numpy as np
import tessera
from tessera import _sources, command

import models

try:
    import onnx
    from google.protobuf.message import EncodeError
    from onnx import parser as onnx_parser
except ImportError:
    onnx = None

ONNX_TEXT = """<ir_version: 8, opset_import: ["": 17]>
g (float[n, 4] x) => (float[n, 3] y) <float[4, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}>
{ y = MatMul(x, w) }"""
W = np.arange(1, 13, dtype=np.float32).reshape(4, 3)


def make(model, *arguments, **options):
    return tessera.compile(model, *arguments, progress=False, **options)


@unittest.skipIf(onnx is None, "needs the package onnx")
class Onnx(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.proto = onnx_parser.parse_model(ONNX_TEXT)
        cls.x = models.random(2, 4)

    def test_path_bytes_and_proto_give_the_same_bytes(self):
        made = []
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.onnx"
            onnx.save(self.proto, path)
            for model in (path, str(path), path.read_bytes(), bytearray(path.read_bytes()),
                          self.proto):
                library = Path(folder) / "model.so"
                compiled = make(model, library)
                np.testing.assert_allclose(compiled(self.x), self.x @ W, rtol=1e-5, atol=1e-5)
                made.append(library.read_bytes())
        self.assertEqual({data == made[0] for data in made}, {True})

    def test_a_proto_that_is_too_large_for_one_message(self):
        w = np.random.default_rng(0).standard_normal((4, 257), np.float32)
        proto = onnx_parser.parse_model(ONNX_TEXT.partition("<float[4, 3] w")[0].replace(
            "n, 3", "n, 257") + "{ y = MatMul(x, w) }")
        proto.graph.initializer.append(onnx.numpy_helper.from_array(w, "w"))
        before = proto.SerializeToString()
        with mock.patch("tessera._sources.MOST_PROTO_BYTES", len(before) - 1):
            model = make(proto)
        np.testing.assert_allclose(model(self.x), self.x @ w, rtol=1e-5, atol=1e-5)
        self.assertEqual(proto.SerializeToString(), before)

        class Larger:
            def SerializeToString(self):
                raise EncodeError("Failed to serialize proto")  # more than Protobuf counts

        self.assertIsNone(_sources._serialized(Larger()))

    def test_weights_that_are_kept(self):
        model = make(self.proto, keep_weights="w", instances=2)
        self.assertEqual([port.name for port in model.weights], ["w"])
        model.set_weight("w", 2 * W)
        np.testing.assert_allclose(model(self.x), self.x @ (2 * W), rtol=1e-5, atol=1e-5)
        model.set_weight("w", None)
        np.testing.assert_allclose(model(self.x), self.x @ W, rtol=1e-5, atol=1e-5)
        with self.assertRaises(tessera.InputError):
            model.set_weight("w", W[:2])

    def test_sizes_and_ranges(self):
        for size, shape, bounds in ((3, (3, 4), (3, 3)), ((1, 8), (None, 4), (1, 8)),
                                    ([1, 8], (None, 4), (1, 8)), ((1, 8, 2), (None, 4), (1, 8)),
                                    ("2..5", (None, 4), (2, 5)),
                                    (range(2, 9, 2), (None, 4), (2, 8))):
            port = make(self.proto, dims={"n": size}).inputs[0]
            self.assertEqual((port.shape, port.min_shape[0], port.max_shape[0]),
                             (shape, *bounds), size)

    def test_a_place_in_the_model(self):
        broken = onnx_parser.parse_model(ONNX_TEXT.replace("MatMul(x, w)", "Nonsense(x, w)"))
        with self.assertRaises(tessera.CompileError) as caught:
            make(broken)
        error = caught.exception
        self.assertEqual(error.code, "E0302")
        self.assertIn("Nonsense", error.place + error.finding)
        self.assertEqual(len(error.diagnostics), 1)


class Relay(unittest.TestCase):
    def test_output_that_goes_with_the_model(self):
        model = make(models.DENSE)
        path = model.path
        self.assertTrue(path.exists())
        model(models.random(1, 8), models.random(16, 8))
        del model
        self.assertFalse(path.exists())

    def test_report(self):
        report = make(models.DENSE).report
        self.assertEqual([row.keys() for row in report.rows()],
                         [{"region", "backend", "operators", "reason"}] * len(report.rows()))
        self.assertIn("link", report.stages)
        self.assertIn("regions", repr(report))
        html = report._repr_html_()
        self.assertTrue(html.startswith("<iframe"))
        self.assertNotIn("<html", html)  # it is inside, as text
        self.assertIn("<html", report.page)

    def test_errors_have_all_their_parts(self):
        with self.assertRaises(tessera.CompileError) as caught:
            make(models.DENSE.replace("nn.relu", "nn.reluu"))
        error = caught.exception
        self.assertEqual(error.code, "E0205")
        self.assertRegex(error.place, r"^model\.relay:\d+:\d+$")
        self.assertIn("nn.reluu", error.finding)
        self.assertEqual(error.remedy, error.diagnostics[0].remedy)
        self.assertIn("operator", error.rule)
        self.assertIn("^~~~", str(error))
        again = pickle.loads(pickle.dumps(error))
        for part in ("code", "place", "finding", "rule", "remedy"):
            self.assertEqual(getattr(again, part), getattr(error, part))

    def test_arguments_that_cannot_be(self):
        for options in ({"precision": "fp7"}, {"partition": "best"}, {"dims": {"n": (1, 2, 3, 4)}},
                        {"dims": {"n": range(0)}}, {"options": ["--nonsense"]},
                        {"options": "--strict"}, {"dynamic_shapes": {}}, {"bundle": "above"}):
            with self.assertRaises(tessera.UsageError, msg=options):
                make(models.DENSE, **options)
        for model in (3, None, {}, np.zeros(3)):
            with self.assertRaises(tessera.UsageError):
                make(model)
        with self.assertRaises(tessera.UsageError):
            make(models.DENSE, instances=0)
        for name in ("-", "--help", "-o"):  # names of files that there are not
            with self.assertRaises(tessera.CompileError) as caught:
                make(name)
            self.assertEqual(caught.exception.code, "E0101")
        with self.assertRaises(tessera.CompileError) as caught:
            make(models.DENSE, dims={"m": 3})
        self.assertEqual(caught.exception.code, "E0404")
        with self.assertRaises(tessera.CompileError) as caught:
            make(models.DENSE, targets="abacus")
        self.assertEqual(caught.exception.code, "E0403")

    def test_options_are_the_commands(self):
        with tempfile.TemporaryDirectory() as folder:
            program, said = Path(folder, "tessera"), Path(folder, "said")
            program.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" >{said}\nexit 3\n")
            program.chmod(0o755)
            with mock.patch("tessera.command.path", lambda: str(program)), \
                    self.assertRaises(tessera.Error):
                make(models.DENSE, "m.so", dims={"n": (1, 4)}, precision="bf16",
                     targets=["cuda", "cublas"], backends=["onednn", "blas"], partition="collage",
                     records="r.db", verify=True, keep_weights=["a", "b"], bundle="beside",
                     threads=3, require="native", strict=True, options=["--jobs", "1"])
            given = said.read_text().splitlines()
        for options in (["--output=m.so"], ["--dim", "n=1..4"], ["--precision=bf16"],
                        ["--target", "cuda", "--target", "cublas"], ["--backends", "onednn,blas"],
                        ["--partition=collage"], ["--records=r.db"], ["--verify"], ["--strict"],
                        ["--keep-weights", "a", "--keep-weights", "b"], ["--bundle=beside"],
                        ["--threads=3"], ["--require", "native"], ["--jobs", "1"]):
            places = [i for i in range(len(given)) if given[i:i + len(options)] == options]
            self.assertEqual(len(places), 1, (options, given))

    def test_records_and_what_is_required(self):
        text = models.DENSE.replace("?n", "64")
        with tempfile.TemporaryDirectory() as folder:
            records = Path(folder) / "records.db"
            model = make(text, partition="collage", records=records, verify=True)
            self.assertGreater(records.stat().st_size, 0)
            x, w = models.random(64, 8), models.random(16, 8)
            np.testing.assert_allclose(model(x, w), models.dense(x, w), rtol=1e-4, atol=1e-5)
        with self.assertRaises(tessera.CompileError) as caught:
            make(text, require="ccompiler")
        self.assertEqual(caught.exception.code, "E0503")

    def test_no_compiler(self):
        with mock.patch.dict(os.environ, {"PATH": "/nowhere", "CXX": ""}), \
                self.assertRaises(tessera.CompileError) as caught:
            make(models.DENSE)
        self.assertEqual(caught.exception.code, "E0104")
        self.assertIn("g++", caught.exception.remedy)

    def test_a_compiler_that_crashes_or_is_killed(self):
        with tempfile.TemporaryDirectory() as folder:
            for line, why in (("kill -9 $$", "too little memory"), ("exit 3", "status 3: a bug")):
                program = Path(folder, "tessera")
                program.write_text("#!/bin/sh\necho 'onednn_verbose,info'\necho '[1]'\n"
                                   f"echo '{{\"event\": \"sta'\necho a bug >&2\n{line}\n")
                program.chmod(0o755)
                with mock.patch("tessera.command.path", lambda: str(program)), \
                        self.assertRaisesRegex(tessera.Error, why):
                    make(models.DENSE)

    def test_warnings_are_pythons(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with mock.patch.dict(os.environ, {"TESSERA_CACHE_DIR": "/proc/nowhere"}):
                made = tessera.compile(models.DENSE, progress=False)
        self.assertEqual(len(caught), len(made.report.warnings))
        self.assertEqual({w.category for w in caught}, {tessera.TesseraWarning})
        self.assertEqual({Path(w.filename).name for w in caught}, {"compile_test.py"})


class Progress(unittest.TestCase):
    def test_callback(self):
        told = []
        tessera.compile(models.DENSE, progress=told.append)
        stages = [p.what for p in told if p.seconds is not None]
        self.assertEqual(stages[0], "import")
        self.assertEqual(stages[-1], "link")
        shares = [p.share for p in told if p.share is not None]
        self.assertEqual(shares, sorted(shares))
        self.assertEqual(shares[-1], 1)

    def test_bar(self):
        notebook = mock.Mock(get_ipython=lambda: "a shell")
        for progress, terminal, shell, is_shown in ((True, False, None, True),
                                                    (False, True, notebook, False),
                                                    (None, False, None, False),
                                                    (None, True, None, True),
                                                    (None, False, notebook, True)):
            said = io.StringIO()
            said.isatty = lambda terminal=terminal: terminal
            with contextlib.redirect_stderr(said), \
                    mock.patch.dict(sys.modules, {"IPython": shell} if shell else {}):
                tessera.compile(models.DENSE, progress=progress)
            self.assertEqual("compiling kernels [####" in said.getvalue(), is_shown)

    def test_what_a_callback_raises_ends_the_compilation(self):
        def stop(_):
            raise KeyError("enough")

        with tempfile.TemporaryDirectory() as folder:
            output = Path(folder) / "model.so"
            with self.assertRaisesRegex(KeyError, "enough"):
                tessera.compile(models.DENSE, output, progress=stop)
            self.assertFalse(output.exists())

    def test_ctrl_c(self):
        # Programs that a shell put into the background begin with the signal ignored.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder) / "slow-compiler"
            script.write_text("#!/bin/sh\n[ \"$1\" = --version ] && { echo 1; exit; }\n"
                              f"echo $$ > {folder}/pid\nsleep 100\n")
            script.chmod(0o755)
            environment = {"CXX": str(script), "TMPDIR": folder,
                           "TESSERA_CACHE_DIR": folder + "/cache"}
            with mock.patch.dict(os.environ, environment):
                main = threading.main_thread().ident

                def interrupt():
                    while not Path(folder, "pid").exists():
                        time.sleep(0.01)
                    signal.pthread_kill(main, signal.SIGINT)

                thread = threading.Thread(target=interrupt)
                thread.start()
                begin = time.monotonic()
                with self.assertRaises(KeyboardInterrupt):
                    make(models.DENSE)
                thread.join()
            self.assertLess(time.monotonic() - begin, 30)
            compiler = int(Path(folder, "pid").read_text())
            with self.assertRaises(ProcessLookupError):  # it has ended, too
                for _ in range(100):
                    os.kill(compiler, 0)
                    time.sleep(0.05)
            self.assertEqual(list(Path(folder).glob("tessera-*")), [])


class Command(unittest.TestCase):
    def test_it_is_a_module(self):
        said = subprocess.run([sys.executable, "-m", "tessera", "--version"], text=True,
                              stdout=subprocess.PIPE, check=True)
        self.assertEqual(said.stdout, f"tessera {tessera.__version__}\n")
        refused = subprocess.run([sys.executable, "-m", "tessera", "nonsense"],
                                 stderr=subprocess.PIPE)
        self.assertEqual(refused.returncode, 2)

    def test_it_finds_headers_of_a_package(self):
        with tempfile.TemporaryDirectory() as folder:
            site = Path(folder).resolve()
            headers = site / "cutlass_library" / "source" / "include"
            with mock.patch("tessera.command.__file__", str(site / "tessera" / "command.py")), \
                    mock.patch.dict(os.environ):
                os.environ.pop("TESSERA_CUTLASS_INCLUDE", None)
                self.assertNotIn("TESSERA_CUTLASS_INCLUDE", command.environment())
                headers.mkdir(parents=True)
                self.assertEqual(command.environment()["TESSERA_CUTLASS_INCLUDE"], str(headers))
                os.environ["TESSERA_CUTLASS_INCLUDE"] = "mine"
                self.assertEqual(command.environment()["TESSERA_CUTLASS_INCLUDE"], "mine")

    def test_it_finds_a_library_of_a_package(self):
        said = subprocess.run([sys.executable, "-m", "tessera", "backends"], text=True,
                              stdout=subprocess.PIPE, check=True)
        self.assertRegex(said.stdout, r"onednn.*libdnnl")


if __name__ == "__main__":
    unittest.main()
