#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every source and every header compiles alone: a header with the options of a source of its folder
or of the nearest one around it that has sources, where the folder's are built; those of include/ as
C too, but for what generated C++ alone includes. Headers come first.
"""
import argparse
import json
import shlex
import subprocess
import sys
import time
from pathlib import Path

from incremental import ROOT, check_all

FOR_GENERATED_CXX = {ROOT / "include/tessera" / name for name in
                     ("kernel_bytes.h", "kernel_math.h", "kernel_numbers.h", "kernel_products.h",
                      "kernel_tiles.h")}
DROPPED_WITH_VALUE = {"-o", "-c", "-MF", "-MT", "-MQ"}


def options_of(command: str) -> list[str]:
    """The compiler and its options, without input, output and dependency file."""
    words, kept = iter(shlex.split(command)), []
    for word in words:
        if word in DROPPED_WITH_VALUE:
            next(words)
        elif word != "-MD" and not word.endswith("ccache"):
            kept.append(word)
    return kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, required=True, help="has compile_commands.json")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    options = parser.parse_args()
    compiled = [(Path(c["file"]), c) for c in
                json.loads((options.build / "compile_commands.json").read_text())]
    # A library that stands in for a vendor's sees nothing of ours: it lends its headers alone.
    ours = {f"-I{ROOT / folder}" for folder in ("src", "include")}
    sources = [(f, c) for f, c in compiled
               if f.suffix == ".cc" and ours <= set(shlex.split(c["command"]))]
    vendors = sorted({w for _, c in compiled for w in shlex.split(c["command"])
                      if w.startswith("-I") and "/stand_in/" in w and w.endswith("/include")})
    of_code = {f.parent: c for f, c in sources if not f.stem.endswith("_test")}
    of_tests = of_code | {f.parent: c for f, c in sources if f.stem.endswith("_test")}
    anything = next(iter(of_code.values()))

    def is_built(folder: Path) -> bool:
        """What needs a library that sanitizers refuse has sources, and none in this build."""
        files = {f for f in folder.glob("*.cc")}
        return not files or any(f in files for f, _ in compiled)

    by_source = dict(sources)

    def check_source(path: Path) -> tuple[bool, str]:
        entry = by_source[path]
        run = subprocess.run([*options_of(entry["command"]), "-fsyntax-only", path],
                             cwd=entry["directory"], capture_output=True, text=True)
        return run.returncode == 0, run.stderr

    def check_header(path: Path) -> tuple[bool, str]:
        if not is_built(path.parent):
            return True, ""
        has_tests_alone = path.parent in of_tests and path.parent not in of_code
        is_of_tests = (path.parent.name == "testing" or path.stem.endswith("_fixture")
                       or has_tests_alone)
        by_folder = of_tests if is_of_tests else of_code
        entry = next((by_folder[f] for f in path.parents if f in by_folder), anything)
        compiler, *flags = options_of(entry["command"])
        commands = [[compiler, *flags, *vendors, "-fsyntax-only", "-x", "c++", "-"]]
        if path.is_relative_to(ROOT / "include") and path not in FOR_GENERATED_CXX:
            commands.append([compiler.replace("++", ""), "-std=c11", "-Wall", "-Wextra", "-Werror",
                             f"-I{ROOT / 'include'}", "-fsyntax-only", "-x", "c", "-"])
        for command in commands:
            run = subprocess.run(command, cwd=entry["directory"], capture_output=True, text=True,
                                 input=f'#include "{path}"\n')
            if run.returncode:
                return False, run.stderr
        return True, ""

    headers = {p for f in ("src", "include", "tools") for p in (ROOT / f).rglob("*.h")
               if "testdata" not in p.parts}
    end = time.monotonic() + options.seconds
    ok = True
    for name, files, check in (("headers", headers, check_header),
                               ("sources", set(by_source), check_source)):
        ok &= check_all(name, files, b"", options.build / f"{name}-passed.json", check,
                        options.jobs, end - time.monotonic())
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
