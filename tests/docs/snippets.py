# SPDX-License-Identifier: Apache-2.0
"""What a page shows to be typed in: its fences of sh, python, cmake, c and cpp.

Words after the language say how: `shown` is not run, `gpu`, `torch` and `onnxruntime` (with the
execution provider for it) need what they name, `body` is what stands in a function. A comment
`<!-- sh: ... -->` (or python, c, cpp) is not shown, and prepares the block after it: it is put in
front of one of the same language, and run before another.
"""
import re
from dataclasses import dataclass
from pathlib import Path

LANGUAGES = ("sh", "python", "cmake", "c", "cpp")
WORDS = {"shown", "gpu", "torch", "onnxruntime", "body"}
_PIECE = re.compile(rf"^<!-- ({'|'.join(LANGUAGES)}): (.*?) -->$|^```([^\n]*)\n(.*?)^```$",
                    re.DOTALL | re.MULTILINE)
# What would be typed into a shell, outside of a block that says so.
_COMMAND = re.compile(
    r"^(?: {4}|\$ )?(?:build/)?(?:tessera (?:compile|check|tune|run|bench|inspect|export-relay|opt|"
    r"diff|records) |(?:make|pip|cmake|ninja|ctest) |scripts/\S+\.(?:sh|py))")


@dataclass
class Snippet:
    language: str
    words: set[str]
    text: str
    line: int
    before: str = ""  # of the comment


def snippets(page: Path) -> list[Snippet]:
    text, found, before = page.read_text(encoding="utf-8"), [], []
    for piece in _PIECE.finditer(text):
        hidden, code, info, shown = piece.groups()
        line = text.count("\n", 0, piece.start()) + 1
        if hidden:
            before.append(Snippet(hidden, set(), code + "\n", line))
            continue
        language, *words = info.split() or [""]
        if language in LANGUAGES:
            same = [s for s in before if s.language == language]
            found += [Snippet(s.language, set(words) - {"body"}, s.text, s.line) for s in before
                      if s.language != language]
            found.append(Snippet(language, set(words), shown, line + 1,
                                 "".join(s.text for s in same)))
        before = []
    return found


def faults(page: Path) -> list[str]:
    """Commands in no block that is run, and words that mean nothing."""
    said = [f"{page}:{s.line}: there is no `{word}` for a block"
            for s in snippets(page) for word in s.words - WORDS]
    language = None
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("```"):
            language = (line[3:].split() or [""])[0] if language is None else None
        elif language not in LANGUAGES and _COMMAND.match(line) and (
                language is not None or line.startswith("    ")):
            said.append(f"{page}:{number}: a command in no block of sh: {line.strip()}")
    return said
