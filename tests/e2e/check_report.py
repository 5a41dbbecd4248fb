#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""That a page of `compile --report` is well-formed, needs nothing else and says what the JSON of
the same compilation says: check_report.py PAGE JSON OUT. Writes the page without what differs from
run to run."""
import html.parser
import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

XHTML, SVG = "{http://www.w3.org/1999/xhtml}", "{http://www.w3.org/2000/svg}"


class Tags(html.parser.HTMLParser):
    """As browsers see it: tags close in order."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], set()

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.add(tag)
        for name, value in attrs:
            # Names of vocabularies are no addresses.
            assert name == "xmlns" or "//" not in (value or ""), (name, value)
            assert name not in ("src", "href") and not name.startswith("on"), name

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag


def rows_of(page, section):
    """Texts of the table cells after a heading."""
    body = list(page.find(XHTML + "body"))
    at = next(i for i, e in enumerate(body) if e.get("id") == section)
    table = next(e for e in body[at:] if e.tag == XHTML + "table")
    rows = [["".join(cell.itertext()) for cell in row] for row in table]
    return rows[0], rows[1:]


def check_graph(page, facts, kernels):
    """One picture, with a box for each call, of which each is told with its back end."""
    (graph,) = page.findall(f".//{XHTML}div[@class='graph']/{SVG}svg")
    boxes = [g for g in graph.iter(SVG + "g") if g.find(SVG + "rect") is not None]
    told = sorted(g.find(SVG + "title").text.split("\n")[0] for g in boxes)
    calls = {k[0]: int(k[2]) for k in kernels}
    assert told == sorted(f"{k[1]}: {k[0]}" for k in kernels for _ in range(calls[k[0]])), told
    assert {p["backend"] + ": " + p["region"] for p in facts["placement"]} <= set(told), told
    colours = {(g.find(SVG + "title").text.split(":")[0], g.find(SVG + "rect").get("fill"))
               for g in boxes}
    assert len(colours) == len({b for b, _ in colours}) == len({c for _, c in colours}), colours
    legend = page.find(f".//{XHTML}p[@class='legend']")
    shown = {s.tail.split(":")[0].strip(): s.get("style").split()[-1] for s in legend}
    assert shown == dict(colours), (shown, colours)


def main():
    text = Path(sys.argv[1]).read_text("utf-8")
    facts = json.loads(Path(sys.argv[2]).read_text())
    tags = Tags()
    tags.feed(text)
    assert not tags.open, tags.open
    assert not tags.seen & {"script", "link", "img", "iframe"}, tags.seen
    page = ElementTree.fromstring(text.split("\n", 1)[1])

    header, rows = rows_of(page, "placement")
    assert header[:3] == ["region", "back end", "operators"], header
    assert [r[:2] for r in rows] == [[p["region"], p["backend"]] for p in facts["placement"]]
    assert [r[4] for r in rows] == [p.get("reason", "") for p in facts["placement"]]
    _, stages = rows_of(page, "stages")
    assert [s[0] for s in stages] == list(facts["stages"]), stages
    _, kernels = rows_of(page, "kernels")
    assert {k[0] for k in kernels} >= {p["region"] for p in facts["placement"]}, kernels
    size = r"[0-9.]+ [kM]?B (code|graph)"
    assert all(k[4] and re.fullmatch(size, k[5]) for k in kernels), kernels
    _, constants = rows_of(page, "constants")
    assert sum(int(c[2]) for c in constants) > 0
    listed = page.findall(f".//{XHTML}li")
    for library in facts["libraries"] + ["libc.so.6"]:
        assert any(library in "".join(item.itertext()) for item in listed), library

    ids = [e.get("id") for e in page.iter() if e.get("id")]
    assert len(set(ids)) == len(ids), ids
    check_graph(page, facts, kernels)
    (picture,) = page.findall(f"{XHTML}body/{SVG}svg")
    plan = page.find(f".//{XHTML}pre").text
    line = r"^arena offset (\d+) bytes (\d+) (.*) ticks((?: \d+\.\.\d+)+)$"
    placed = re.findall(line, plan, re.M)
    wanted = [f"{name}: {size} bytes at {at}, statements {first} to {last}"
              for at, size, name, live in placed if int(size) > 0
              for first, last in re.findall(r"(\d+)\.\.(\d+)", live)]
    titles = [r.find(SVG + "title").text for r in picture.findall(SVG + "rect")
              if r.find(SVG + "title") is not None]
    assert titles == wanted and titles, (titles, wanted)
    for time in page.findall(f".//{XHTML}span[@class='time']"):
        time.text = "..."
    Path(sys.argv[3]).write_text(ElementTree.tostring(page, "unicode"), "utf-8")


if __name__ == "__main__":
    main()
