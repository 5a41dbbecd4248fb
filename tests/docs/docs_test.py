#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""That what the pages show runs, page by page, each in a folder of its own:

    docs_test.py BUILD

snippets.py says what a page says of its blocks. In each folder are `build/tessera`, `include/`, and
the models of `models`.
"""
import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from importlib.util import find_spec
from pathlib import Path
from unittest import mock

import onnx.parser

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(sys.argv.pop(1)).resolve()
sys.path[:0] = [str(ROOT / "tests" / "zoo"), str(ROOT / "python" / "tests"),
                str(ROOT / "scripts" / "site"), str(Path(__file__).parent)]
from hydrate import hydrate, skeleton_path  # noqa: E402
from links import pages  # noqa: E402
from models import PRODUCT, torch  # noqa: E402
from snippets import Snippet, faults, snippets  # noqa: E402

ZOO = {"bert.onnx": "bert.legacy17.open", "mobilenet.onnx": "mobilenet_v2.legacy17.open",
       "quantised.onnx": "resnet.legacy17.qoperator_unsigned"}
RELAY = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 8), float32]) {
  %0 = sigmoid(%x);
  %1 = multiply(%x, %0);
  nn.relu(%1)
}
"""


def has_gpu() -> bool:
    """With the compiler for it."""
    nvcc = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "bin" / "nvcc"
    return shutil.which("nvidia-smi") is not None and (
        shutil.which("nvcc") is not None or nvcc.exists())


def has_provider() -> bool:
    return (find_spec("onnxruntime") is not None
            and (BUILD / "lib" / "libtessera_onnxruntime.so").exists())


# By the word of a block: what TESSERA_TESTS_REQUIRE calls it, and is it there?
NEEDS = {"gpu": ("gpu", has_gpu), "torch": ("torch", lambda: torch is not None),
         "onnxruntime": ("onnxruntime-headers", has_provider)}


def needed(snippet: Snippet) -> str:
    """What of it is missing here; "": it can run."""
    if "shown" in snippet.words:
        return "it is only shown"
    required = os.environ.get("TESSERA_TESTS_REQUIRE", "").split(",")
    for word, (name, is_there) in NEEDS.items():
        if word in snippet.words and not is_there():
            if name in required:
                raise AssertionError(f"there is no {word}, and TESSERA_TESTS_REQUIRE names {name}")
            return f"there is no {word}"
    return ""


class Page:
    """Runs blocks, each with what those before have left."""

    def __init__(self, folder: Path):
        self.folder, self.names = folder, {"__name__": "__main__"}
        python = Path(sys.executable).parent
        self.environment = os.environ | {
            "PATH": f"{BUILD / 'bin'}:{python}:{os.environ['PATH']}",
            "ROOT": str(ROOT),
            "TESSERA_CACHE_DIR": str(BUILD / "tests" / "docs" / "cache")}

    def command(self, *command: str) -> str:
        done = subprocess.run(command, cwd=self.folder, env=self.environment, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        if done.returncode != 0:
            raise AssertionError(done.stdout)
        return done.stdout

    def run(self, snippet: Snippet) -> str:
        return getattr(self, f"run_{snippet.language}")(snippet)

    def run_sh(self, snippet: Snippet) -> str:
        return self.command("bash", "-e", "-o", "pipefail", "-c", snippet.before + snippet.text)

    def run_python(self, snippet: Snippet) -> str:
        # Lines as they are on the page.
        text = snippet.before + "\n" * (snippet.line - 1) + snippet.text
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.chdir(self.folder):
            exec(compile(text, "page", "exec"), self.names)
        return said.getvalue()

    def compile(self, snippet: Snippet, compiler: list[str], suffix: str) -> str:
        text = snippet.text
        if "body" in snippet.words:
            includes = re.findall(r"^#include .*\n", text, re.MULTILINE)
            rest = re.sub(r"^#include .*\n", "", text, flags=re.MULTILINE)
            text = (f"{''.join(includes)}{snippet.before}int body(void) {{\n{rest}"
                    "return 0;\n}\n")
        else:
            text = snippet.before + text
        source = self.folder / f"snippet{snippet.line}{suffix}"
        source.write_text(text)
        command = [*compiler, "-Wall", "-Werror", f"-I{ROOT / 'include'}", str(source)]
        if "int main(" not in text:
            return self.command(*command, "-Wno-unused-variable", "-fsyntax-only")
        program = source.with_suffix("")
        self.command(*command, "./model.so", "-Wl,-rpath,$ORIGIN", "-o", str(program))
        return self.command(str(program))

    def run_cmake(self, snippet: Snippet) -> str:
        head = "cmake_minimum_required(VERSION 3.21)\nproject(page LANGUAGES C)\n"
        (self.folder / "CMakeLists.txt").write_text(head + snippet.text)
        built = str(self.folder / "built")
        said = self.command("cmake", "-S", str(self.folder), "-B", built,
                            f"-DCMAKE_PREFIX_PATH={BUILD}")
        return said + self.command("cmake", "--build", built)

    def run_c(self, snippet: Snippet) -> str:
        return self.compile(snippet, ["cc", "-std=c11"], ".c")

    def run_cpp(self, snippet: Snippet) -> str:
        return self.compile(snippet, ["c++", "-std=c++20", f"-I{ROOT / 'src'}"], ".cc")


class Docs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.models = Path(folder.name)
        for name in ("model.onnx", "product.onnx"):
            onnx.save(onnx.parser.parse_model(PRODUCT), cls.models / name)
        (cls.models / "model.relay").write_text(RELAY)
        for file, name in ZOO.items():
            onnx.save(hydrate(skeleton_path(name)), cls.models / file)

    def page(self) -> Page:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        shutil.copytree(self.models, folder.name, dirs_exist_ok=True)
        (Path(folder.name) / "build").mkdir()
        (Path(folder.name) / "build" / "tessera").symlink_to(BUILD / "bin" / "tessera")
        (Path(folder.name) / "include").symlink_to(ROOT / "include")
        return Page(Path(folder.name))

    def run_page(self, path: Path) -> tuple[Page, str]:
        page, said = self.page(), ""
        for snippet in snippets(path):
            why = needed(snippet)
            if why:
                continue
            try:
                said += page.run(snippet)
            except Exception as error:
                raise AssertionError(f"{path.relative_to(ROOT)}:{snippet.line}: {error}") from error
        return page, said

    def test_every_command_is_in_a_block_that_is_run(self):
        self.assertEqual([fault for path in pages() for fault in faults(path)], [])

    def test_a_command_in_no_block_and_a_word_that_means_nothing_are_found(self):
        page = self.page().folder / "page.md"
        page.write_text("    make build\n\n```\ntessera run m.so\n```\n\n```sh gpus\n```\n\n"
                        "```sh\nmake build\n```\nmake build, in a sentence\n", encoding="utf-8")
        self.assertEqual([fault.split(":")[1] for fault in faults(page)], ["8", "1", "4"])

    def test_commands_that_are_only_shown_have_options_that_exist(self):
        known, checked = {}, 0
        for path in pages():
            for snippet in snippets(path):
                if snippet.language != "sh" or not needed(snippet):
                    continue
                for command, rest in re.findall(r"\btessera ([a-z-]+) ([^#\n]*)", snippet.text):
                    if command not in known:
                        known[command] = self.page().command("tessera", command, "--help")
                    for option in re.findall(r"(?<!\S)(--[a-z-]+|-[a-z])(?=[\s=]|$)", rest):
                        checked += 1
                        self.assertRegex(known[command], rf"(?m)^  (-\w,)?{option}\b",
                                         f"{path.name}:{snippet.line}: tessera {command}")
        self.assertGreater(checked, 10)

    def test_a_block_that_needs_what_is_not_there(self):
        block = Snippet("python", {"moon"}, "", 1)
        for is_there, required, why in ((True, "moon", ""), (False, "sun", "there is no moon"),
                                        (False, "sun,moon", None)):
            with mock.patch.dict(NEEDS, {"moon": ("moon", lambda is_there=is_there: is_there)}), \
                    mock.patch.dict(os.environ, {"TESSERA_TESTS_REQUIRE": required}):
                if why is None:
                    with self.assertRaises(AssertionError):
                        needed(block)
                else:
                    self.assertEqual(needed(block), why)

    def test_what_fails_is_found(self):
        page = self.page()
        for language, text in (("sh", "false | true"), ("python", "assert False"),
                               ("c", "int f(void) { return g; }"),
                               ("cpp", "int f() { return g; }"), ("cmake", "none()")):
            with self.assertRaises(Exception, msg=language):
                page.run(Snippet(language, set(), text + "\n", 1))
        said = page.run(Snippet("sh", set(), "echo $name\n", 1, "name=prepared\n"))
        self.assertEqual(said, "prepared\n")

    def test_pages(self):
        for path in pages():
            if path in (ROOT / "README.md", ROOT / "docs" / "python.md") or not snippets(path):
                continue
            with self.subTest(str(path.relative_to(ROOT))):
                self.run_page(path)

    def test_the_page_about_python(self):
        page, said = self.run_page(ROOT / "docs" / "python.md")
        self.assertIn("E0404", said)
        self.assertEqual(page.names["y"].shape[1], 2)

    def test_the_readme_and_that_the_patterns_of_a_user_stay_composites(self):
        page, said = self.run_page(ROOT / "README.md")
        self.assertIn("median", said)
        self.assertIn("ccompiler.gated", (page.folder / "my.patterns").read_text())
        printed = page.command("tessera", "compile", "placed.relay", "-o", "strict.so", "--strict",
                               "--verify", "--json")
        placement = json.loads(printed)["placement"]
        self.assertEqual(len(placement), 2, placement)
        self.assertEqual(placement[0]["backend"], "ccompiler")
        self.assertEqual(placement[0]["operators"], ["sigmoid", "multiply"])
        for row in placement:
            self.assertNotIn("reason", row)


if __name__ == "__main__":
    unittest.main()
