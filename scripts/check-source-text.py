#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who may turn plain text into text that another program reads as its language.

The types SafeText (support/safe_text.h) make the compiler hold most of it: what is compiled is a
Source, a page is Html, and neither comes out of a std::string. What is left is listed here: the
functions that declare text safe, those that print, and that nothing starts a shell. Exit 1 on a
violation."""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Each rule: what is looked for, and in which files it may stand how often.
RULES = {
    "makes text safe without escaping it": (
        re.compile(r"\btrusted\("),
        {
            "src/support/safe_text.h": 2,  # the function, and formats of safe things
            "src/support/source.h": 1,  # the same with formats out of tables
            "src/support/source.cc": 3,  # a string, a comment, a name
            "src/driver/html.cc": 1,  # html_text
            "src/byoc/function_at_a_time.cc": 1,  # an artifact's payload, which was a Source
            "src/backends/ccompiler/ccompiler.cc": 1,  # the option `-header`, which is C++
        },
    ),
    "writes to a stream of its own": (
        re.compile(r"\bfmt::print\(|\bstd::(cout|cerr|clog)\b|\bstd::?f?(puts|printf|write)\("),
        {
            "tools/write_output.cc": 2,  # what is made visible, and texts of ours
            "tools/standard_error.cc": 1,
        },
    ),
    "starts a shell": (
        re.compile(r"\bstd::system\(|\bpopen\(|\"/bin/(ba)?sh\"|\"sh\""),
        {},
    ),
}


def is_subject(path: str) -> bool:
    """Sources of the compiler: neither tests nor what travels in libraries."""
    if not path.endswith((".cc", ".h")):
        return False
    return not (path.endswith("_test.cc") or "/testing/" in path or "/runtime/" in path
                or "/kernels/" in path or "/testdata/" in path)


def main() -> int:
    files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "src", "tools"],
                           cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    found = 0
    for path in filter(is_subject, files):
        text = re.sub(r"//.*", "", (ROOT / path).read_text())
        for what, (pattern, allowed) in RULES.items():
            count = len(pattern.findall(text))
            if count > allowed.get(path, 0):
                print(f"{path}: {what}: {count} times, and {allowed.get(path, 0)} are allowed")
                found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
