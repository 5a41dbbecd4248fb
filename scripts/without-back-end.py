#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that a back end is one folder and one line: takes both of NAME out of a copy of what git
tracks, without the tests that name back ends, and builds the command. Exit 1 if that fails, or if
the command still knows the name.

    scripts/without-back-end.py NAME [--build-options "-DCMAKE_BUILD_TYPE=Debug ..."]"""
import argparse
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = Path("src/backends")
LIST = FOLDERS / "backends.def"


def copy_sources(to: Path) -> None:
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others",
                             "--exclude-standard"], check=True, capture_output=True, text=True)
    for name in filter(None, listed.stdout.split("\0")):
        source = ROOT / name
        names_back_ends = re.match(r"tests/|src/backends/[^/]*_test\.cc$", name)
        if names_back_ends or not source.is_file():
            continue
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, to / name)


def take_out(tree: Path, name: str) -> None:
    folder, lines = tree / FOLDERS / name, (tree / LIST).read_text().splitlines(keepends=True)
    kept = [line for line in lines if f'"backends/{name}/' not in line]
    if not folder.is_dir() or len(lines) - len(kept) != 1:
        sys.exit(f"{name}: no folder in {FOLDERS}, or not one line in {LIST}")
    shutil.rmtree(folder)
    (tree / LIST).write_text("".join(kept))


def build(tree: Path, options: list[str]) -> Path:
    folder = tree / "build" / "without"
    subprocess.run(["cmake", "-G", "Ninja", "-S", tree, "-B", folder,
                    f"-DTESSERA_PYTHON_ENV={ROOT / '.deps' / 'python'}", *options],
                   check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", folder, "--quiet", "tessera_tessera_command"], check=True)
    return folder / "bin" / "tessera"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("--build-options", default="-DCMAKE_BUILD_TYPE=Release "
                                                   "-DTESSERA_TOGETHER=ON", type=shlex.split)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tessera-without-") as folder:
        tree = Path(folder)
        copy_sources(tree)
        take_out(tree, args.name)
        try:
            command = build(tree, args.build_options)
        except subprocess.CalledProcessError as failed:
            sys.exit(f"without {args.name}: {shlex.join(map(str, failed.cmd))} failed")
        listed = subprocess.run([command, "backends"], check=True, capture_output=True, text=True)
        if re.search(rf"\b{re.escape(args.name)}\b", listed.stdout):
            sys.exit(f"without {args.name}: the command still lists it")
    print(f"builds without {args.name}")


if __name__ == "__main__":
    main()
