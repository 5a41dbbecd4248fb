# SPDX-License-Identifier: Apache-2.0
"""Links between pages of Markdown: which there are, and which lead nowhere."""
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Not of code: blocks and `...` are taken out before.
LINK = re.compile(r"(?<!\!)\[([^\]]*)\]\(([^)\s]+)\)")
_CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.DOTALL | re.MULTILINE)


def pages() -> list[Path]:
    """Those that people begin with."""
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")),
            *sorted((ROOT / "examples").rglob("*.md"))]


def anchors(text: str) -> set[str]:
    """Of headings, as GitHub and the site name them."""
    found: dict[str, int] = {}
    text = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    for heading in re.findall(r"^#+ +(.*?) *$", text, re.MULTILINE):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        number = found.get(slug, 0)
        found[slug] = number + 1
        if number:
            found[f"{slug}-{number}"] = 1
    return set(found)


def targets(page: Path) -> list[tuple[str, Path, str]]:
    """The link's text, the file that it leads to, and the heading there."""
    found = []
    for _, link in LINK.findall(_CODE.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        found.append((link, (page.parent / name).resolve() if name else page, anchor))
    return found


def dead_links(page: Path) -> list[str]:
    dead = []
    for link, path, anchor in targets(page):
        if not path.exists() or (ROOT not in path.parents and path != ROOT):
            dead.append(f"{page}: {link} leads to nothing")
        elif anchor and anchor not in anchors(path.read_text(encoding="utf-8")):
            dead.append(f"{page}: {link} names no heading there")
    return dead
