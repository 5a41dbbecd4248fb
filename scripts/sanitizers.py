#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang's build with sanitizers, and its tests, in the time that there is. Programs of tests are
built in the order of the folders, then all else; when 70 % of the time is over, no more are. Tests
of those that were built run in what is left. What was not reached is named, and is no failure; a
warning, or a test that fails, is. Without --seconds all of it is done, however long that takes."""
import argparse
import json
import re
import subprocess
import sys
import time
from pathlib import Path

SHARE_OF_BUILDING = 0.7
INTERRUPTED = 124  # of timeout(1)


class Clock:
    def __init__(self, seconds: float | None) -> None:
        self.end = None if seconds is None else time.monotonic() + seconds

    def is_over(self) -> bool:
        return self.end is not None and time.monotonic() > self.end - 1

    def limit(self) -> list[str]:
        """Words before a command that end it in time, with status INTERRUPTED."""
        if self.end is None:
            return []
        # ninja and ctest end by SIGINT when the steps that run have ended; their results are kept.
        return ["timeout", "--signal=INT", "--kill-after=120",
                f"{max(1.0, self.end - time.monotonic()):.0f}"]


def programs(build: Path) -> dict[str, list[str]]:
    """Of each program of tests that sanitizers watch the names of its tests, in the order of the
    folders, in which what they start (the command, archives) is built before them; those of no
    program are below "all": they need the whole build."""
    listed = json.loads(subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"],
                                       check=True, capture_output=True, text=True).stdout)
    targets = subprocess.run(["ninja", "-C", build, "-t", "targets", "all"], check=True,
                             capture_output=True, text=True).stdout
    targets = set(re.findall(r"^(tessera_\w+_test): phony", targets, re.M))
    found: dict[str, list[str]] = {}
    for test in listed["tests"]:
        labels = next((p["value"] for p in test["properties"] if p["name"] == "LABELS"), [])
        if not {"unit", "fuzz"} & set(labels) or "slow" in labels:
            continue
        program = f"tessera_{test['name'].partition('.')[0]}_test"  # NAME or NAME.SHARD
        found.setdefault(program if program in targets else "all", []).append(test["name"])
    return {**{p: t for p, t in found.items() if p != "all"}, "all": found.get("all", [])}


def run_tests(build: Path, jobs: int, names: list[str], clock: Clock) -> list[str]:
    """What failed of those that were reached."""
    if not names:
        return []
    shown = subprocess.Popen(
        clock.limit() + ["ctest", "--test-dir", build, "--parallel", str(jobs),
                         "--output-on-failure", "-R", f"^({'|'.join(map(re.escape, names))})$"],
        stdout=subprocess.PIPE, text=True)
    ended, failed = set(), []
    for line in shown.stdout:
        print(line, end="", flush=True)
        if match := re.match(r" *\d+/\d+ Test +#\d+: (\S+) \.*( *Passed|.*\*\*\*)", line):
            ended.add(match[1])
            failed += [match[1]] if "***" in match[2] and "***Skipped" not in line else []
    if shown.wait() not in (0, INTERRUPTED) and not failed:
        failed.append("ctest")
    if missed := [n for n in names if n not in ended]:
        print(f"not run in time: {', '.join(missed)}")
    return failed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, required=True, help="a configured build folder")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, help="for all of it")
    options = parser.parse_args()
    whole = Clock(options.seconds)
    building = Clock(options.seconds and options.seconds * SHARE_OF_BUILDING)

    built: list[str] = []
    unbuilt: list[str] = []
    failed = []
    for program, tests in programs(options.build).items():
        if building.is_over():
            unbuilt.append(program)
            continue
        status = subprocess.run(
            building.limit() + ["cmake", "--build", options.build, "--parallel", str(options.jobs),
                                "--target", program]).returncode
        if status == 0:
            built += tests
        elif status == INTERRUPTED or building.is_over():
            unbuilt.append(program)
        else:
            failed.append(f"{program} was not built")
    if unbuilt:
        print(f"not built in time: {', '.join(unbuilt)}")
    failed += run_tests(options.build, options.jobs, built, whole)
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
