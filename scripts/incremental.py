# SPDX-License-Identifier: Apache-2.0
"""Checks of single files that remember what passed: a file is known by the hash of everything it
says, that is its text, our headers that it includes, and the settings of the check."""
import concurrent.futures
import hashlib
import json
import re
import subprocess
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMMITS = 30  # that count as lately
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


def key(path: Path, settings: bytes) -> str:
    whole = hashlib.sha256(settings)
    for part in sorted(closure(path)):
        whole.update(digest(part))
    return whole.hexdigest()


@cache
def recently_changed() -> frozenset[Path]:
    """The files of the last commits; none where there is no history."""
    log = subprocess.run(["git", "-C", ROOT, "log", f"-{COMMITS}", "--format=", "--name-only"],
                         capture_output=True, text=True).stdout
    return frozenset(ROOT / line for line in log.splitlines())


def check_all(name: str, files: set[Path], settings: bytes, memory: Path,
              check: Callable[[Path], tuple[bool, str]], jobs: int, seconds: float) -> bool:
    """Runs `check` on the files that did not pass as they are now until the time is over: what has
    changed lately first, then small ones. Prints what failed and a line of counts. True if nothing
    failed."""
    passed = set(json.loads(memory.read_text())) if memory.exists() else set()
    keys = {p: key(p, settings) for p in files}
    lately = recently_changed()
    todo = sorted((p for p in files if keys[p] not in passed),
                  key=lambda p: (p not in lately, p.stat().st_size, str(p)))
    deadline = time.monotonic() + seconds

    def run(path: Path):
        return (path, *check(path)) if time.monotonic() < deadline else (path, None, "")

    failed = skipped = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for path, ok, text in pool.map(run, todo):
            if ok is None:
                skipped += 1
            elif ok:
                passed.add(keys[path])
            else:
                failed += 1
                print(text, end="" if text.endswith("\n") else "\n")
    memory.write_text(json.dumps(sorted(passed & set(keys.values()))))
    print(f"{name}: {len(files)} files, {len(files) - len(todo)} unchanged since they passed, "
          f"{len(todo) - skipped} checked, {failed} failed, {skipped} not reached in time")
    return failed == 0
