#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang-tidy within a time budget. A file that passed is remembered by the hash of everything that
it says (its text, our headers that it includes, .clang-tidy) and not read again; the others are
taken smallest first, until the time is over. What was not reached is counted, never failed."""
import argparse
import concurrent.futures
import hashlib
import json
import re
import shutil
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


@cache
def closure(path: Path) -> frozenset[Path]:
    """The file and our headers that it includes, transitively."""
    seen, todo = set(), [path]
    while todo:
        current = todo.pop()
        if current in seen:
            continue
        seen.add(current)
        for name in INCLUDE.findall(current.read_text()):
            for base in (ROOT / "src", ROOT / "include", current.parent):
                if (base / name).is_file():
                    todo.append((base / name).resolve())
                    break
    return frozenset(seen)


@cache
def digest(path: Path) -> bytes:
    return hashlib.sha256(path.read_bytes()).digest()


def key(path: Path) -> str:
    whole = hashlib.sha256(digest(ROOT / ".clang-tidy"))
    for part in sorted(closure(path)):
        whole.update(digest(part))
    return whole.hexdigest()


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
    sources = {Path(c["file"]) for c in compiled}
    ours = {p for p in sources if any(p.is_relative_to(ROOT / f) for f in ("src", "tools"))
            and p.is_file() and not p.stem.endswith("_test")}
    if options.files:
        ours &= {p.resolve() for p in options.files}
    passed_file = options.build / "tidy-passed.json"
    passed = set(json.loads(passed_file.read_text())) if passed_file.exists() else set()
    todo = sorted((p for p in ours if key(p) not in passed),
                  key=lambda p: (p.stat().st_size, str(p)))

    deadline = time.monotonic() + options.seconds

    def check(path: Path):
        if time.monotonic() > deadline:
            return path, None, ""
        run = subprocess.run([tidy, "-p", options.build, "--quiet", path], capture_output=True,
                             text=True)
        return path, run.returncode == 0, run.stdout

    failed = skipped = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for path, ok, text in pool.map(check, todo):
            if ok is None:
                skipped += 1
            elif ok:
                passed.add(key(path))
            else:
                failed += 1
                print(text, end="")
    passed_file.write_text(json.dumps(sorted(passed & {key(p) for p in ours})))
    print(f"clang-tidy: {len(ours)} files, {len(ours) - len(todo)} unchanged since they passed, "
          f"{len(todo) - skipped} checked, {failed} failed, {skipped} not reached in time")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
