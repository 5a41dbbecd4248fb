#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small by budget: reports files over 400 lines and functions over 40; fails at files over 800,
functions over 80 and lines over 100 columns. Generated text (testdata) is not measured, and tables
(.def) may have longer lines: one entry is one line."""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILE_SOFT, FILE_HARD, FUNCTION_SOFT, FUNCTION_HARD, COLUMNS = 400, 800, 40, 80, 100
SUFFIXES = {".h", ".cc", ".c", ".cu", ".cuh", ".def", ".py", ".sh", ".cmake"}
# clang-format puts a function's opening line and its closing brace at the same indentation, and
# namespaces do not indent; so a column-0 line that opens a brace and is no type is a function.
NOT_A_FUNCTION = re.compile(r"^(namespace|struct|class|enum|union|extern|#|//|\}|using|typedef)|"
                            r"=\s*\{$|constexpr\s[^(]*\{$")


def functions(lines: list[str]):
    """Yields (first line, length) of top-level functions."""
    start = None
    for number, line in enumerate(lines, 1):
        if not line or line[0] in " \t#/)":
            if start is None or not line.startswith(")"):
                continue
        if line.startswith("}"):
            if start is not None:
                yield start, number - start + 1
            start = None
        elif line[0].isalpha() or line[0] in "_[~:":
            if not NOT_A_FUNCTION.search(line) and not line.rstrip().endswith((";", "}")):
                start = start or number
            else:
                start = None


def main() -> None:
    listed = subprocess.run(["git", "-C", ROOT, "ls-files"], check=True, capture_output=True,
                            text=True).stdout.split("\n")
    notes, errors, count, total = [], [], 0, 0
    for name in listed:
        path = ROOT / name
        if path.suffix not in SUFFIXES or "testdata" in path.parts or not path.is_file():
            continue
        lines = path.read_text().splitlines()
        count, total = count + 1, total + len(lines)
        if len(lines) > FILE_SOFT:
            report = errors if len(lines) > FILE_HARD else notes
            report.append(f"{name}: {len(lines)} lines")
        quoted = False  # inside a raw string of a test: text of another language, as long as it is
        for number, line in enumerate(lines, 1):
            if len(line) > COLUMNS and path.suffix != ".def" and not quoted:
                errors.append(f"{name}:{number}: {len(line)} columns")
            if path.stem.endswith("_test"):
                quoted = ('R"(' in line or quoted) and ')"' not in line.rpartition('R"(')[2]
        if path.suffix in {".h", ".cc", ".c", ".cu", ".cuh"} and not path.stem.endswith("_test"):
            for number, length in functions(lines):
                if length > FUNCTION_SOFT:
                    report = errors if length > FUNCTION_HARD else notes
                    report.append(f"{name}:{number}: function of {length} lines")
    print("\n".join([f"note: {n}" for n in notes] + [f"error: {e}" for e in errors]
                    + [f"{count} files, {total} lines, {len(notes)} notes, {len(errors)} errors"]))
    sys.exit(1 if errors else 0)


if __name__ == "__main__":
    main()
