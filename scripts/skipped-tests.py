#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints which tests a run could not do, and why: those that googletest calls skipped.

  scripts/skipped-tests.py FOLDER    of the XML files that GTEST_OUTPUT=xml:FOLDER/ leaves there
"""
import collections
import pathlib
import sys
import xml.etree.ElementTree as xml


def reason(skipped):
    """The last line of the message: before it stands the place."""
    lines = [line.strip() for line in (skipped.get("message") or "").splitlines()]
    return next((line for line in reversed(lines) if line), "no reason given")


def skipped_in(folder):
    found = collections.defaultdict(set)
    for file in sorted(pathlib.Path(folder).glob("*.xml")):
        try:
            cases = xml.parse(file).getroot().iter("testcase")
        except xml.ParseError:
            print(f"{file.name}: its tests did not end")
            continue
        for case in cases:
            for skipped in case.findall("skipped"):
                name = f"{case.get('classname')}.{case.get('name')}"
                found[reason(skipped)].add(name)
    return found


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = skipped_in(sys.argv[1])
    if not found:
        print("Every test was run.")
    for why, names in sorted(found.items()):
        shown = ", ".join(sorted(names)[:4]) + (", ..." if len(names) > 4 else "")
        print(f"Not run here: {len(names)} ({why}): {shown}")


main()
