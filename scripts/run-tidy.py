#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang-tidy over our sources within a time budget; files that passed are not read again."""
import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

from incremental import ROOT, check_all


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, required=True, help="has compile_commands.json")
    parser.add_argument("--seconds", type=float, default=480)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("files", nargs="*", type=Path, help="only these")
    options = parser.parse_args()
    tidy = shutil.which("clang-tidy-14") or shutil.which("clang-tidy-18")
    if not tidy:
        sys.exit("clang-tidy not found: run scripts/install-deps.sh --check")

    compiled = json.loads((options.build / "compile_commands.json").read_text())
    sources = {p for c in compiled if (p := Path(c["file"])).is_file()
               and (p.is_relative_to(ROOT / "src") or p.is_relative_to(ROOT / "tools"))
               and not p.stem.endswith("_test")}
    if options.files:
        sources &= {p.resolve() for p in options.files}

    def check(path: Path) -> tuple[bool, str]:
        run = subprocess.run([tidy, "-p", options.build, "--quiet", path], capture_output=True,
                             text=True)
        return run.returncode == 0, run.stdout

    ok = check_all("clang-tidy", sources, (ROOT / ".clang-tidy").read_bytes(),
                   options.build / "tidy-passed.json", check, options.jobs, options.seconds)
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
