# SPDX-License-Identifier: Apache-2.0
"""The list of models that are refused, each with the kind of its refusal.

A line is `MODEL: WHAT`, where WHAT is the error's code and words that its message must have, with
`...` between them where something may stand, or for what only some configurations refuse
`MODEL [CONFIGURATION]: WHAT`. Lines that begin with `#` say more than the message does.
"""
import re
from pathlib import Path

LIST = Path(__file__).resolve().parents[1] / "expected_refusals.txt"
PLACES = re.compile(r"^model\.onnx: |node `[^`]*`: |sizes \d: ")
SHAPES = re.compile(r"the shape \(.*\) is")
LINE = re.compile(r"(\S+)(?: \[(\w+)\])?: (.*)")


def read_expected(path: Path = LIST) -> dict[tuple[str, str | None], str]:
    found = {}
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            model, configuration, what = LINE.fullmatch(line).groups()
            found[model, configuration] = what
    return found


def is_kind(what: str, message: str) -> bool:
    """Whether a message has the code and all words, which `...` separates."""
    place = 0
    for part in what.split("..."):
        place = message.find(part.strip(), place)
        if place < 0:
            return False
    return True


def kind_of(message: str) -> str:
    """The message without the places and shapes that it names."""
    code, _, text = message.partition(" ")
    return f"{code} ... {SHAPES.sub('the shape ... is', PLACES.sub('', text))}"


def updated(text: str, results: dict[str, dict[str, dict]]) -> str:
    """The list as these results would have it; lines that still hold, and all others, stay."""
    expected, kept, added = read_expected(), [], []
    for line in text.splitlines():
        match = LINE.fullmatch(line)
        if not line.startswith("#") and match and match[1] in results:
            found = results[match[1]]
            refused = [r for c, r in found.items()
                       if match[2] in (None, c) and r["kind"] == "refused"]
            if not any(is_kind(match[3], r["message"]) for r in refused):
                continue
        kept.append(line)
    for model, found in results.items():
        refused = {c: r["message"] for c, r in found.items() if r["kind"] == "refused" and
                   surprise(expected, model, c, r)}
        if len(refused) == len(found):
            added.append(f"{model}: {kind_of(next(iter(refused.values())))}")
        else:
            added += [f"{model} [{c}]: {kind_of(m)}" for c, m in refused.items()]
    return "".join(line + "\n" for line in kept + added)


def surprise(expected: dict, model: str, configuration: str, found: dict) -> str:
    """A sentence where a result is not what the list says; right results need no line."""
    what = expected.get((model, configuration)) or expected.get((model, None))
    if found["kind"] == "refused":
        if what is None:
            return "this refusal is not in the list"
        return "" if is_kind(what, found["message"]) else f"the list expects: {what}"
    return "the list expects a refusal" if what and found["kind"] == "ok" else ""
