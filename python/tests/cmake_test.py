# SPDX-License-Identifier: Apache-2.0
"""That a project for CMake finds the compiler in the package, and embeds a model."""
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import tessera

PROJECT = """cmake_minimum_required(VERSION 3.21)
project(p LANGUAGES C)
find_package(tessera REQUIRED)
tessera_add_model(m m.relay)
add_executable(program program.c)
target_link_libraries(program PRIVATE m)
"""
PROGRAM = """#include <tessera/model.h>
int main(void) {
  tessera_model* model = NULL;
  return tessera_model_create(NULL, &model);
}
"""
# A product, which oneDNN takes: the command must find it.
MODEL = """#[version = "0.0.5"]
def @main(%x: Tensor[(8, 8), float32], %w: Tensor[(16, 8), float32]) {
  nn.relu(nn.dense(%x, %w, units=None))
}
"""


@unittest.skipIf(shutil.which("cmake") is None, "needs cmake")
class CMake(unittest.TestCase):
    def test_a_project_embeds_a_model(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for file, text in (("CMakeLists.txt", PROJECT), ("program.c", PROGRAM),
                               ("m.relay", MODEL)):
                (folder / file).write_text(text)
            for command in (["cmake", "-S", name, "-B", f"{name}/build",
                             f"-Dtessera_DIR={tessera.cmake_folder()}"],
                            ["cmake", "--build", f"{name}/build"], [f"{name}/build/program"]):
                done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      text=True)
                self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    unittest.main()
