# SPDX-License-Identifier: Apache-2.0
"""That the package is typed: the stub says what the binding has, and every function that users call
has annotations and says what it raises."""
import ast
import inspect
import re
import typing
import unittest
from pathlib import Path

import tessera
from tessera import _runtime

import models

FOLDER = Path(tessera.__file__).parent


def names_of(function) -> list[str]:
    """Of nanobind's functions, by the signature that their text begins with."""
    inside = re.match(r"\w+\((.*)\) ?(?:->.*)?$", function.__doc__.partition("\n")[0]).group(1)
    found = ast.parse(f"def f({inside}): ...").body[0].args
    return [a.arg for a in found.posonlyargs + found.args]


class Stubs(unittest.TestCase):
    def test_the_stub_has_what_the_binding_has(self):
        stub = ast.parse((FOLDER / "_runtime.pyi").read_text(encoding="utf-8")).body
        self.assertTrue((FOLDER / "py.typed").exists())
        seen = set()
        for thing in stub:
            if isinstance(thing, ast.AnnAssign):
                self.assertIsInstance(getattr(_runtime, thing.target.id), str)
            elif isinstance(thing, (ast.FunctionDef, ast.ClassDef)):
                seen.add(thing.name)
            for method in getattr(thing, "body", []) if isinstance(thing, ast.ClassDef) else []:
                owner = getattr(_runtime, thing.name)
                seen.add(f"{thing.name}.{method.name}")
                said = [a.arg for a in method.args.args]
                found = names_of(getattr(owner, method.name))
                # A function without named arguments has numbers for them.
                self.assertEqual(len(said), len(found), method.name)
                if not any(name.startswith("arg") for name in found):
                    self.assertEqual(said, found, method.name)
        there = {name for name, thing in vars(_runtime).items()
                 if callable(thing) and not name.startswith("_")}
        there |= {f"{kind.__name__}.{name}" for kind in
                  (getattr(_runtime, n) for n in there) if isinstance(kind, type)
                  for name, thing in vars(kind).items()
                  if callable(thing) and (not name.startswith("_") or name in
                                          ("__init__", "__call__"))}
        self.assertEqual(there, seen)

    def test_what_a_model_has_says_its_type(self):
        model = tessera.compile(models.DENSE, progress=False)
        model.inputs  # loads it
        hints = typing.get_type_hints(tessera.Model)
        self.assertEqual({name for name in vars(model) if not name.startswith("_")}, hints.keys())
        self.assertEqual(hints["report"], tessera.Report | typing.Any)

    def test_what_users_call_says_its_types_and_what_it_raises(self):
        functions = {name: getattr(tessera, name) for name in tessera.__all__}
        functions |= {f"Model.{name}": function for name, function in vars(tessera.Model).items()
                      if not name.startswith("_") and inspect.isfunction(function)}
        checked = 0
        for name, function in functions.items():
            self.assertTrue(isinstance(function, str) or function.__doc__, name)
            if inspect.isfunction(function):
                checked += 1
                parameters = inspect.signature(function).parameters.values()
                self.assertEqual([p.name for p in parameters if p.name != "self"
                                  and p.annotation is p.empty], [], name)
                self.assertIn("return", function.__annotations__, name)
        self.assertGreater(checked, 10)
        for function in (tessera.compile, tessera.Model, tessera.Model.__call__):
            self.assertRegex(function.__doc__, r"Raises \w+(Error|Shortage)")


if __name__ == "__main__":
    unittest.main()
