#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A table in Markdown of what `run.py --results FILE` wrote: table.py FILE..."""
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from running.manifest import FAMILIES, read_manifest  # noqa: E402

SLOW = 2.0


def read_results(paths: list[str]) -> dict[str, dict[str, dict]]:
    found: dict[str, dict[str, dict]] = {}
    for path in paths:
        for line in Path(path).read_text().splitlines():
            entry = json.loads(line)
            found.setdefault(entry["model"], {}).update(entry["results"])
    return found


def ratio_of(results: dict[str, dict]) -> float | None:
    """The time of the first configuration, which has all back ends, relative to onnxruntime's."""
    times = next(iter(results.values())).get("times_us")
    return times[0] / times[1] if times else None


def kinds_of(results: dict[str, dict]) -> str:
    kinds = {c: r["kind"] for c, r in results.items()}
    if len(set(kinds.values())) == 1:
        return next(iter(kinds.values()))
    return " ".join(f"{c}={k}" for c, k in kinds.items())


def families_of(results: dict[str, dict[str, dict]]) -> list[str]:
    lines = ["| family | models | compiled | refused | slow |", "|---|---|---|---|---|"]
    models = [m for m in read_manifest() if m["name"] in results]
    for family in FAMILIES:
        chosen = [results[m["name"]] for m in models if m["family"] == family]
        refused = sum(all(r["kind"] == "refused" for r in c.values()) for c in chosen)
        slow = sum((ratio_of(c) or 0) > SLOW for c in chosen)
        lines.append(f"| {family} | {len(chosen)} | {len(chosen) - refused} | {refused} | {slow} |")
    return lines


def row(name: str, results: dict[str, dict], most: dict[str, dict]) -> str:
    """`most`: of a model that was run in every configuration; of others it is said in which."""
    ratio, times = ratio_of(results), next(iter(results.values())).get("times_us")
    errors = [r["error"] for r in results.values() if "error" in r]
    with_what = "" if len(results) == len(most) else f" ({', '.join(results)})"
    cells = [name, kinds_of(results) + with_what, f"{max(errors):.1e}" if errors else "",
             *([f"{t:.0f}" for t in times] if times else ("", "")),
             "" if ratio is None else f"{ratio:.2f}x" + (" **slow**" if ratio > SLOW else "")]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    results = read_results(sys.argv[1:])
    print("\n".join(families_of(results)))
    print("\n| model | result | largest error | us | onnxruntime, us | time |\n"
          "|---|---|---|---|---|---|")
    most = max(results.values(), key=len)
    for model in read_manifest():
        if model["name"] in results:
            print(row(model["name"], results[model["name"]], most))


if __name__ == "__main__":
    main()
