#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the pages that scripts/site makes, and of the links of all pages; the site itself needs
mkdocs, and is made by `make docs` and `make check`:

    site_test.py TESSERA
"""
import re
import sys
import tempfile
import unittest
from pathlib import Path

COMMAND = Path(sys.argv.pop(1)).resolve()
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "site"))
import build  # noqa: E402
import links  # noqa: E402
from reference import Reference  # noqa: E402


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.reference = Reference(COMMAND)
        cls.pages = cls.reference.pages()

    def test_no_link_leads_nowhere(self):
        self.assertGreater(len(links.pages()), 20)
        self.assertEqual([d for page in links.pages() for d in links.dead_links(page)], [])

    def test_a_link_that_leads_nowhere_is_found(self):
        with tempfile.TemporaryDirectory(dir=ROOT / "docs") as folder:
            page = Path(folder) / "page.md"
            page.write_text("[a](none.md) [b](../abi.md#none) [c](#the-end) [d](../../../x)\n"
                            "`[e](code.md)` [f](../abi.md#profile)\n## The end\n",
                            encoding="utf-8")
            dead = [line.split(": ", 1)[1].split()[0] for line in links.dead_links(page)]
        self.assertEqual(dead, ["none.md", "../abi.md#none", "../../../x"])

    def test_reference_has_what_the_code_has(self):
        commands = self.reference.commands()
        self.assertGreater(len(commands), 10)
        for command in commands:
            self.assertIn(f"\n## tessera {command}\n", self.pages["command.md"])
        listed = (ROOT / "src" / "diagnostics" / "codes.def").read_text(encoding="utf-8")
        codes = re.findall(r"^CODE\(", listed, re.MULTILINE)
        self.assertEqual(len(re.findall(r"^## E\d+$", self.pages["errors.md"], re.MULTILINE)),
                         len(codes))
        listed = "".join(file.read_text(encoding="utf-8")
                         for file in (ROOT / "src").glob("*/passes.def"))
        self.assertEqual(len(re.findall(r"^\| `", self.pages["passes.md"], re.MULTILINE)),
                         len(re.findall(r"^PASS\(", listed, re.MULTILINE)))
        for name, page in (("tessera_instance_run", "c.md"), ("## tessera.compile", "python.md"),
                           ("ccompiler.", "patterns.md"), ("**nn.dense**", "operators.md")):
            self.assertIn(name, self.pages[page])

    def test_the_same_is_made_each_time(self):
        self.assertEqual(Reference(COMMAND).pages(), self.pages)

    def test_the_site_shows_neither_what_is_hidden_nor_links_to_folders(self):
        with tempfile.TemporaryDirectory() as folder:
            build.stage(Path(folder), self.pages)
            text = (Path(folder) / "README.md").read_text(encoding="utf-8")
            self.assertNotIn("<!-- sh:", text)
            self.assertNotIn("```sh shown", text)
            self.assertNotIn("(bench/)", text)
            self.assertTrue((Path(folder) / "examples/program/classify.c").exists())
            navigation = (ROOT / "scripts" / "site" / "mkdocs.yml").read_text(encoding="utf-8")
            for page in re.findall(r": (\S+\.md)$", navigation, re.MULTILINE):
                self.assertTrue((Path(folder) / page).exists(), page)


if __name__ == "__main__":
    unittest.main()
