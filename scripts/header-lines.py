#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many lines the compiler reads: for each source its own and those of all headers that it
includes, ours and others', summed over every fourth source that a build compiles one by one (a
preset without TESSERA_TOGETHER); what is generated has to be built. Prints the heaviest
headers: lines times sources that read them. Exit 1 where the mean of a source has grown by more
than 5 % beyond what header-lines.json says, which --update writes anew. Headers of other compilers
and systems have other lengths: compared is only where the same ones are read."""
import argparse
import json
import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BASELINE = ROOT / "scripts" / "header-lines.json"
ALLOWED = 1.05
SHOWN = 20
EVERY = 4


@cache
def lines(path: str) -> int:
    try:
        with open(path, "rb") as file:
            return sum(1 for _ in file)
    except OSError:
        return 0  # not generated yet


def reads(command: dict) -> list[str]:
    """The files that the compiler reads for a source; what is generated later counts as nothing."""
    words = shlex.split(command["command"])
    words = words[next(i for i, w in enumerate(words) if re.search(r"(clang|g)\+\+", w)):]
    rule = subprocess.run([*words[:words.index("-o")], "-M", "-MG", command["file"]],
                          cwd=command["directory"], check=True, capture_output=True,
                          text=True).stdout
    return [str(Path(command["directory"], p).resolve())
            for p in rule.replace("\\\n", " ").split()[1:]]


def sources(build: Path) -> dict[str, list[str]]:
    commands = {c["file"]: c for c in json.loads((build / "compile_commands.json").read_text())
                if c["file"].endswith(".cc") and Path(c["file"]).is_relative_to(ROOT)
                and not Path(c["file"]).is_relative_to(build)}
    commands = {f: commands[f] for f in sorted(commands)[::EVERY]}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(commands, pool.map(reads, commands.values())))


def name(path: str) -> str:
    short = re.sub(r"^/usr/(lib/gcc/[^/]+/[^/]+/)?include/", "", path)
    return str(Path(path).relative_to(ROOT)) if Path(path).is_relative_to(ROOT) else f"<{short}>"


def system(found: dict[str, list[str]]) -> list:
    """Tells standard libraries apart: by their folder, and the length of a header that all read."""
    folders = {match[0] for paths in found.values() for p in paths
               if (match := re.match(r"/usr/include/c\+\+/[^/]+", p))}
    return [[folder, lines(f"{folder}/bits/basic_string.h")] for folder in sorted(folders)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "clang")
    parser.add_argument("--update", action="store_true", help="write header-lines.json")
    options = parser.parse_args()
    found = sources(options.build.resolve())
    if not found:
        sys.exit(f"{options.build}: no source of ours is compiled one by one")
    total = sum(lines(p) for paths in found.values() for p in paths)
    mean = total / len(found)
    readers = Counter(p for source, paths in found.items() for p in paths if p != source)
    print(f"{len(found)} sources, {total / 1e6:.1f} million lines, {mean:,.0f} a source; heaviest:")
    weights = sorted(((lines(p) * n, p, n) for p, n in readers.items()), reverse=True)
    ours = [w for w in weights if Path(w[1]).is_relative_to(ROOT)]
    for weight, path, count in weights[:SHOWN] + ours[:SHOWN]:
        print(f"{weight / 1e3:10,.0f} k  {count:4} x {lines(path):6,}  {name(path)}")
    if options.update:
        BASELINE.write_text(json.dumps({"mean": round(mean), "system": system(found)}) + "\n")
        return
    before = json.loads(BASELINE.read_text())
    if before["system"] != system(found):
        print("header-lines.json was written with another standard library: not compared")
    elif mean > before["mean"] * ALLOWED:
        sys.exit(f"a source reads {mean:,.0f} lines, more than 5 % beyond {before['mean']:,}: "
                 "include less, or say why and run scripts/header-lines.py --update")


if __name__ == "__main__":
    main()
