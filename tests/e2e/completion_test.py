#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of `tessera completion`: that a shell offers what `--help` lists, and no more.

    completion_test.py TESSERA
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TESSERA = sys.argv.pop(1)


def said(*arguments: str) -> str:
    return subprocess.run([TESSERA, *arguments], check=True, capture_output=True, text=True).stdout


def commands() -> list[str]:
    listed = said("--help").split("Subcommands:\n")[1].split("\nEnvironment:")[0]
    return re.findall(r"^  ([a-z-]+) ", listed, re.MULTILINE)


def options(*command: str) -> set[str]:
    """Of the lines that begin with one; descriptions may name others."""
    found = set()
    for line in re.findall(r"^  (-\S+)", said(*command, "--help"), re.MULTILINE):
        found |= {re.sub(r"[{=].*", "", name) for name in line.split(",")}
    return found


class Bash(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.script = Path(folder.name) / "tessera.bash"
        cls.script.write_text(said("completion", "bash"))

    def offered(self, *words: str) -> set[str]:
        """What bash's function offers for the last of the words."""
        code = ('. "$0" || exit; COMP_WORDS=(tessera "$@"); COMP_CWORD=$#; _tessera; '
                'printf "%s\\n" "${COMPREPLY[@]}"')
        done = subprocess.run(["bash", "-u", "-c", code, self.script, *words], text=True,
                              check=True, capture_output=True)
        self.assertEqual(done.stderr, "")
        return set(done.stdout.split())

    def test_commands_and_their_options_are_those_of_the_help(self):
        self.assertGreater(len(commands()), 10)
        self.assertEqual(self.offered(""), set(commands()) | options())
        for command in commands():
            # Flags with a value are there with each value, too.
            offered = {name.partition("=")[0] for name in self.offered(command, "-")}
            self.assertEqual(offered, options(command), command)

    def test_what_is_typed_narrows_it(self):
        self.assertEqual(self.offered("comp"), {"compile", "completion"})
        self.assertEqual(self.offered("compile", "m.onnx", "--part"), {"--partition"})
        self.assertEqual(self.offered("unknown", "--"), set())

    def test_values_are_those_that_the_option_takes(self):
        self.assertEqual(self.offered("compile", "--partition", ""), {"none", "greedy", "collage"})
        self.assertEqual(self.offered("bench", "--partition", ""), {"none", "greedy"})
        self.assertEqual(self.offered("compile", "--partition", "=", "c"), {"collage"})
        self.assertEqual(self.offered("compile", "--partition", "="),
                         {"none", "greedy", "collage"})
        self.assertEqual(self.offered("compile", "--bundle", "=", "in"), {"inside"})
        self.assertEqual(self.offered("compile", "--bun"),
                         {"--bundle", "--bundle=beside", "--bundle=inside"})

    def test_files_are_left_to_the_shell(self):
        self.assertEqual(self.offered("compile", ""), set())
        self.assertEqual(self.offered("compile", "--records", ""), set())
        self.assertIn("complete -o default -F _tessera tessera", self.script.read_text())


class OtherShells(unittest.TestCase):
    def test_fish_has_every_option_and_value(self):
        script = said("completion", "fish")
        for command in commands():
            self.assertIn(f"-f -a {command} -d '", script)
            lines = [line for line in script.splitlines()
                     if f"-n '__fish_seen_subcommand_from {command}'" in line]
            for option in options(command):
                spelled = f" -l {option[2:]} " if option.startswith("--") else f" -s {option[1:]} "
                self.assertTrue(any(spelled in line for line in lines), (command, option))
        self.assertIn("-l partition -x -a 'none greedy collage'", script)

    @unittest.skipIf(shutil.which("fish") is None, "needs fish")
    def test_fish_offers_them(self):
        with tempfile.TemporaryDirectory() as home:
            code = "tessera completion fish | source; complete -C 'tessera compile --partition '"
            path = f"{Path(TESSERA).resolve().parent}:{os.environ['PATH']}"
            done = subprocess.run(["fish", "--no-config", "-c", code], text=True, check=True,
                                  capture_output=True,
                                  env=os.environ | {"HOME": home, "PATH": path})
        self.assertEqual(done.stderr, "")
        self.assertEqual({line.split("\t")[0] for line in done.stdout.splitlines()},
                         {"none", "greedy", "collage"})

    @unittest.skipIf(shutil.which("zsh") is None, "needs zsh")
    def test_zsh_takes_the_function(self):
        with tempfile.TemporaryDirectory() as home:
            script = Path(home) / "_tessera"
            script.write_text(said("completion", "zsh"))
            code = ('autoload -U compinit; compinit -u -D; . "$0"; '
                    'emulate sh -c \'COMP_WORDS=(tessera compile --part); COMP_CWORD=2; '
                    '_tessera; echo "${COMPREPLY[@]}"\'; echo $_comps[tessera]')
            done = subprocess.run(["zsh", "-f", "-c", code, script], text=True, check=True,
                                  capture_output=True, env=os.environ | {"HOME": home})
        # What does not fit to the word, zsh itself leaves out.
        self.assertIn("--partition", done.stdout.split(), done.stderr)
        self.assertNotIn("compile", done.stdout.split())
        self.assertIn("_tessera", done.stdout)


if __name__ == "__main__":
    unittest.main()
