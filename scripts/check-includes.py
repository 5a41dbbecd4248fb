#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares #include lines with the link edges: a file may include headers of its own folder, of the
folders named in DEPS of its CMakeLists.txt, and of what these depend on. Lists (*.def) that include
nothing but lists depend on nothing, and may be read from anywhere. A back end needs no other one,
not even in its tests: without-back-end.py takes each out. Exit 1 on a violation."""
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BACK_ENDS = ROOT / "src" / "backends"
CALL = re.compile(r"^\s*tessera_(library|runtime_library|executable|test)\(\s*([^)]*)\)", re.M)
KEYWORDS = {"DEPS", "LIBS", "SOURCES", "LABELS", "SHARDS", "TIMEOUT", "APART",
            "ROOMS"}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


@dataclass
class Folder:
    """What one CMakeLists.txt declares: the library's edges, and what its tests may use besides."""
    library: str = ""
    deps: set[str] = field(default_factory=set)
    test_deps: set[str] = field(default_factory=set)


def parse_cmake(path: Path) -> Folder:
    folder = Folder()
    text = re.sub(r"#.*", "", path.read_text())
    for kind, arguments in CALL.findall(text):
        name, *words = arguments.split()
        deps, keyword = set(), None
        for word in words:
            if word in KEYWORDS:
                keyword = word
            elif keyword == "DEPS":
                deps.add(word)
        if kind == "test":
            folder.test_deps |= deps
        else:
            folder.library = name
            folder.deps |= deps
    return folder


def reachable(deps: set[str], edges: dict[str, set[str]]) -> set[str]:
    seen, todo = set(), list(deps)
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += edges.get(name, ())
    return seen


def owner(path: Path, folders: dict[Path, Folder]) -> Path | None:
    return next((p for p in path.parents if p in folders), None)


def resolve(include: str, source: Path) -> Path | None:
    for base in (ROOT / "src", ROOT / "include", ROOT, source.parent):
        if (base / include).is_file():
            return (base / include).resolve()
    return None  # generated, or of a library outside


def is_list_of_lists(path: Path) -> bool:
    if path.suffix != ".def":
        return False
    included = [resolve(match[1], path) for match in INCLUDE.finditer(path.read_text())]
    return all(p is not None and is_list_of_lists(p) for p in included)


def check_file(path: Path, folders: dict[Path, Folder], edges: dict[str, set[str]]) -> list[str]:
    home = owner(path, folders)
    if home is None:
        return [f"{path.relative_to(ROOT)}: belongs to no library"]
    folder = folders[home]
    allowed = reachable(folder.deps, edges)
    if path.stem.endswith("_test") or not folder.library:
        allowed |= reachable(folder.test_deps, edges)
    errors = []
    text = path.read_text()
    for match in INCLUDE.finditer(text):
        target = resolve(match[1], path)
        if target is None or target.is_relative_to(ROOT / "include") or is_list_of_lists(target):
            continue
        target_home = owner(target, folders)
        library = folders[target_home].library if target_home else (
            str(target.parent.relative_to(ROOT)))
        if target_home != home and library not in allowed:
            line = text.count("\n", 0, match.start()) + 1
            errors.append(f"{path.relative_to(ROOT)}:{line}: includes \"{match[1]}\", but "
                          f"{home.relative_to(ROOT)}/CMakeLists.txt has no DEPS path to {library}")
    return errors


def back_end_of(folder: Path) -> str | None:
    """The back end that a folder belongs to; what tests of all of them share is none's."""
    below = folder.relative_to(BACK_ENDS).parts if folder.is_relative_to(BACK_ENDS) else ()
    return below[0] if below and below[0] != "testing" else None


def check_back_ends(folders: dict[Path, Folder], edges: dict[str, set[str]]) -> list[str]:
    owners = {f.library: back_end_of(path) for path, f in folders.items() if f.library}
    # graph_tests need `backends`, whose edges to all of them cmake makes: no file has those.
    return [f"{(path / 'CMakeLists.txt').relative_to(ROOT)}: {own} needs {library} of {other}"
            for path, folder in folders.items() if (own := back_end_of(path))
            for library in sorted(reachable(folder.deps | folder.test_deps, edges))
            if (other := owners.get(library)) and other != own]


def tracked(*patterns: str) -> list[Path]:
    out = subprocess.run(["git", "-C", ROOT, "ls-files", *patterns],
                         check=True, capture_output=True, text=True).stdout
    return [ROOT / line for line in out.splitlines() if (ROOT / line).is_file()]


def main() -> None:
    folders = {p.parent: f for p in tracked("*CMakeLists.txt")
               if (f := parse_cmake(p)).library or f.test_deps}
    edges = {f.library: f.deps for f in folders.values() if f.library}
    sources = [p for p in tracked("src/*.h", "src/*.cc", "tools/*.h", "tools/*.cc",
                                  "tests/*.h", "tests/*.cc") if "testdata" not in p.parts]
    errors = [e for p in sources for e in check_file(p, folders, edges)]
    errors += check_back_ends(folders, edges)
    print("\n".join(errors + [f"{len(sources)} files, {len(edges)} libraries, "
                              f"{len(errors)} violations"]))
    sys.exit(1 if errors else 0)


if __name__ == "__main__":
    main()
