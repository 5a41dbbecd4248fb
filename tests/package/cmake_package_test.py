#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of find_package(tessera) and tessera_add_model, with an installation of a build:

    cmake_package_test.py BUILD CMAKE
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save_model

BUILD, CMAKE = sys.argv.pop(1), sys.argv.pop(1)
ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "program"
HEAD = """cmake_minimum_required(VERSION 3.21)
project(p LANGUAGES C)
find_package(tessera 0.1)
"""
PROGRAM = """#include <stdio.h>
#include <tessera/model.h>
int main(void) {
  tessera_model* model = NULL;
  tessera_instance* instance = NULL;
  tessera_tensor y = {0};
  if (tessera_model_create(NULL, &model) || tessera_instance_create(model, NULL, &instance) ||
      tessera_instance_run(instance, NULL, 0, &y, 1)) {
    return fprintf(stderr, "%s\\n", tessera_last_error()), 1;
  }
  printf("%g\\n", (double)*(const float*)y.data);
  return 0;
}
"""


def run(*command, check: bool = True) -> subprocess.CompletedProcess:
    environment = {k: v for k, v in os.environ.items() if k != "TESSERA_ROOT"}
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, env=environment,
                          stderr=subprocess.STDOUT, text=True)
    if check and done.returncode != 0:
        raise AssertionError(done.stdout)
    return done


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.kept.cleanup)
        cls.prefix = Path(cls.kept.name) / "with space"
        run(CMAKE, "--install", BUILD, "--prefix", cls.prefix)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def configure(self, source: Path, generator: str, *options, check: bool = True) -> str:
        return run(CMAKE, "-S", source, "-B", self.folder / "build", "-G", generator,
                   f"-DCMAKE_PREFIX_PATH={self.prefix}", *options, check=check).stdout

    def build(self, check: bool = True) -> str:
        return run(CMAKE, "--build", self.folder / "build", check=check).stdout

    def project(self, text: str) -> Path:
        source = self.folder / "source"
        source.mkdir()
        (source / "CMakeLists.txt").write_text(HEAD + text)
        (source / "program.c").write_text(PROGRAM)
        return source

    def save(self, path: Path, value: float) -> None:
        """A model whose one result lies in a file beside it."""
        w = np.full(1000, value, np.float32)
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1000])
        graph = helper.make_graph([helper.make_node("Identity", ["w"], ["y"])], "g", [], [y],
                                  [numpy_helper.from_array(w, "w")])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        path.with_name("w.bin").unlink(missing_ok=True)
        save_model(model, path, save_as_external_data=True, location="w.bin", size_threshold=0)

    def check_example(self, program: Path) -> None:
        rows = [list(map(float, line.split())) for line in run(program / "classify_c").stdout
                .splitlines()]
        scores = 2 * np.array([[0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 2, 3]])
        shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(rows, shares, atol=6e-5)
        hits = list(map(float, run(program / "classify_cpp").stdout.split()))
        np.testing.assert_allclose(hits, [shares[1, 0]] * 4, rtol=1e-5)

    def test_the_example_is_built_run_and_installed(self):
        self.configure(EXAMPLE, "Ninja")
        self.build()
        self.check_example(self.folder / "build")
        self.assertNotIn("Compiling the model", self.build())
        run(CMAKE, "--install", self.folder / "build", "--prefix", self.folder / "installed")
        shutil.rmtree(self.folder / "build")
        self.check_example(self.folder / "installed" / "bin")

    def test_a_model_whose_data_change_is_compiled_again(self):
        for generator in ("Ninja", "Unix Makefiles"):
            shutil.rmtree(self.folder / "source", ignore_errors=True)
            shutil.rmtree(self.folder / "build", ignore_errors=True)
            source = self.project("tessera_add_model(m m.onnx OPTIONS --partition none)\n"
                                  "add_executable(program program.c)\n"
                                  "target_link_libraries(program m)\n")
            self.save(source / "m.onnx", 3)
            self.configure(source, generator)
            self.build()
            self.assertEqual(run(self.folder / "build/program").stdout, "3\n")
            weights = source / "w.bin"
            before = weights.stat().st_mtime_ns
            self.save(source / "m.onnx", 4)
            # The file with the data alone is newer.
            os.utime(source / "m.onnx", ns=(before, before))
            self.assertIn("Compiling the model", self.build(), generator)
            self.assertEqual(run(self.folder / "build/program").stdout, "4\n")

    def test_a_program_does_not_link_with_two_models(self):
        source = self.project("tessera_add_model(a a.onnx)\ntessera_add_model(b a.onnx)\n"
                              "add_executable(program program.c)\n"
                              "target_link_libraries(program a b)\n")
        self.assertIn("TESSERA_MODEL", self.configure(source, "Ninja", check=False))

    def test_what_is_wrong_is_said(self):
        for text, said in (("tessera_add_model(m m.onnx --dim n=1)",
                            "options of the compiler follow OPTIONS"),
                           ("set(CMAKE_CROSSCOMPILING ON)\ntessera_add_model(m m.onnx)",
                            "for the processor of this machine"),
                           ("unset(TESSERA_COMMAND CACHE)\ntessera_add_model(m m.onnx)",
                            "there is no compiler")):
            shutil.rmtree(self.folder / "source", ignore_errors=True)
            shutil.rmtree(self.folder / "build", ignore_errors=True)
            source = self.project(text)
            printed = " ".join(self.configure(source, "Ninja", check=False).split())
            self.assertIn(said, printed)

    def test_a_model_that_is_refused_stops_the_build(self):
        source = self.project("tessera_add_model(m m.onnx)\nadd_executable(program program.c)\n"
                              "target_link_libraries(program m)\n")
        (source / "m.onnx").write_text("nothing")
        self.configure(source, "Ninja")
        self.assertIn("E0", self.build(check=False))

    def test_in_a_wheel_the_script_is_taken(self):
        """It knows where packages beside it have vendors' libraries."""
        package = self.folder / "env" / "lib" / "python3" / "site-packages" / "tessera"
        shutil.copytree(self.prefix, package, ignore=shutil.ignore_patterns("*.a"))
        (package / "__main__.py").touch()
        script = self.folder / "env" / "bin" / "tessera"
        script.parent.mkdir()
        shutil.copy(package / "bin" / "tessera", script)
        self.configure(self.project(""), "Ninja",
                       f"-Dtessera_DIR={package / 'lib' / 'cmake' / 'tessera'}")
        cache = (self.folder / "build" / "CMakeCache.txt").read_text()
        found = next(line for line in cache.splitlines() if line.startswith("TESSERA_COMMAND:"))
        self.assertTrue(Path(found.split("=")[1]).samefile(script), found)

    def test_no_other_version_is_taken(self):
        source = self.folder / "source"
        source.mkdir()
        (source / "CMakeLists.txt").write_text(HEAD.replace("tessera 0.1", "tessera 9.9 REQUIRED"))
        self.assertIn("version", self.configure(source, "Ninja", check=False))


class Environment(unittest.TestCase):
    def test_what_was_found_in_another_environment_is_looked_for_again(self):
        """A second `pip install .` in one clone: that of the first is gone."""
        with tempfile.TemporaryDirectory() as name:
            folder, own = Path(name), f"{name}/own/include"
            (folder / "CMakeLists.txt").write_text(f"""cmake_minimum_required(VERSION 3.25)
project(p LANGUAGES NONE)
include({ROOT}/cmake/python_environment.cmake)
find_path(OF_PACKAGE package.h PATHS ${{TESSERA_PYTHON_ENV}}/include NO_DEFAULT_PATH)
find_path(OF_SYSTEM system.h PATHS {own} NO_DEFAULT_PATH)
message("found ${{OF_PACKAGE}} ${{OF_SYSTEM}}")
""")
            for path in ("own/include/system.h", "a/include/package.h"):
                (folder / path).parent.mkdir(parents=True)
                (folder / path).touch()
            for environment, before in (("a", None), ("b", "a"), ("b", None)):
                if before:
                    (folder / before).rename(folder / environment)
                said = run(CMAKE, "-S", folder, "-B", folder / "build",
                           f"-DTESSERA_PYTHON_ENV={folder / environment}").stdout
                self.assertIn(f"found {folder / environment}/include {own}", said)
                shutil.rmtree(folder / "own", ignore_errors=True)  # is not looked for again


if __name__ == "__main__":
    unittest.main()
