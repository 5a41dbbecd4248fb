#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the site of the documents in build/site: pages of the repository, as they are, and those of
reference, from the code. A link that leads nowhere is an error. `make docs` runs it.

    scripts/site/build.py [--command build/tessera] [--output build/site]
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from links import LINK, ROOT, dead_links, pages, targets
from reference import Reference

HERE = Path(__file__).resolve().parent


def reached(first: list[Path]) -> list[Path]:
    """These pages, and those of the repository that they lead to."""
    found, left = [], list(first)
    while left:
        page = left.pop(0)
        if page in found:
            continue
        found.append(page)
        left += [path for _, path, _ in targets(page) if path.suffix == ".md" and path.is_file()]
    return found


def prepared(page: Path) -> str:
    """The text for the site: without what is hidden in it, and without links to folders."""
    text = page.read_text(encoding="utf-8")
    text = re.sub(r"^<!-- (?:sh|python|cmake|c|cpp): .*? -->\n", "", text,
                  flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^```(\w+) [^\n]*$", r"```\1", text, flags=re.MULTILINE)

    def link(found: re.Match) -> str:
        name = found[2].partition("#")[0]
        is_folder = name and "://" not in name and (page.parent / name).is_dir()
        return found[1] if is_folder else found[0]
    return LINK.sub(link, text)


def stage(folder: Path, reference: dict[str, str]) -> None:
    """The pages below `folder`, as they lie in the repository, with the files that they link."""
    shutil.rmtree(folder, ignore_errors=True)
    for page in reached(pages()):
        target = folder / page.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(prepared(page), encoding="utf-8")
        for _, path, _ in targets(page):
            if path.is_file() and path.suffix != ".md":
                copy = folder / path.relative_to(ROOT)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)
    for name, text in reference.items():
        target = folder / "docs" / "reference" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", type=Path, default=ROOT / "build" / "tessera")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "site")
    options = parser.parse_args()
    began = time.monotonic()
    dead = [link for page in pages() for link in dead_links(page)]
    if dead:
        sys.exit("\n".join(dead))
    output = options.output.resolve()
    stage(output / "pages", Reference(options.command.resolve()).pages())
    # mkdocs takes its folders relative to its configuration.
    config = output / "mkdocs.yml"
    config.write_text(f"docs_dir: pages\nsite_dir: html\n{(HERE / 'mkdocs.yml').read_text()}",
                      encoding="utf-8")
    # What the theme has to say of its future is not for those who build.
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict",
                           "--clean", "--config-file", str(config)], env=environment)
    if done.returncode != 0:
        sys.exit(done.returncode)
    print(f"{output / 'html' / 'index.html'}: {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
