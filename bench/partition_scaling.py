#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time of partitioning by the size of the graph, on one core: transformer layers without end as
Relay text, through the passes that a user of Relay runs. Prints a table in Markdown.

    bench/partition_scaling.py > bench/results/DATE-partitioning.md
"""
import argparse
import datetime
import os
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# One layer: (operator calls) the shapes stay what they are, so layers can follow each other.
LAYER = """\
  %{0} = nn.dense({x}, %w_qkv, units=96);
  %{1} = nn.bias_add(%{0}, %b_qkv);
  %{2} = split(%{1}, indices_or_sections=3, axis=1);
  %{3} = %{2}.0;
  %{4} = %{2}.1;
  %{5} = %{2}.2;
  %{6} = expand_dims(%{3}, axis=0);
  %{7} = expand_dims(%{4}, axis=0);
  %{8} = nn.batch_matmul(%{6}, %{7}, transpose_b=True);
  %{9} = multiply(%{8}, 0.125f);
  %{10} = nn.softmax(%{9});
  %{11} = expand_dims(%{5}, axis=0);
  %{12} = nn.batch_matmul(%{10}, %{11}, transpose_b=False);
  %{13} = squeeze(%{12}, axis=[0]);
  %{14} = nn.dense(%{13}, %w_out, units=32);
  %{15} = add(%{14}, {x});
  %{16} = nn.dense(%{15}, %w_up, units=64);
  %{17} = nn.bias_add(%{16}, %b_up);
  %{18} = nn.relu(%{17});
  %{19} = nn.dense(%{18}, %w_down, units=32);
  %{20} = add(%{19}, %{15});
"""
VALUES = 21
PARAMETERS = {"x": (8, 32), "w_qkv": (96, 32), "b_qkv": (96,), "w_out": (32, 32), "w_up": (64, 32),
              "b_up": (64,), "w_down": (32, 64)}
SUPPORTED = ["nn.dense", "nn.bias_add", "nn.relu", "nn.batch_matmul", "add"]

PIPELINES = {
    "infer": "infer-type",
    "annotate, merge regions, partition, outline":
        "annotate-target{targets=[cublas],supported=[%s]},merge-compiler-regions,partition-graph,"
        "inline,outline-compiler-functions,infer-type"
        % ",".join("cublas:" + op for op in SUPPORTED),
    "merge composites, annotate, partition":
        "merge-composite{table=cublas},annotate-target{targets=[cublas]},partition-graph,"
        "infer-type",
    "fuse": "fuse-ops,infer-type",
}


def model(nodes: int) -> str:
    header = ", ".join(f"%{n}: Tensor[({', '.join(map(str, s))}), float32]"
                       for n, s in PARAMETERS.items())
    lines, x, next_number = [], "%x", 0
    for _ in range(max(1, nodes // VALUES)):
        numbers = list(range(next_number, next_number + VALUES))
        lines.append(LAYER.format(*numbers, x=x))
        x = f"%{numbers[-1]}"
        next_number += VALUES
    return f'#[version = "0.0.5"]\ndef @main({header}) {{\n{"".join(lines)}  {x}\n}}\n'


def pass_times(tessera: Path, text: Path, passes: str) -> dict[str, float]:
    """Seconds by pass, in order; passes that run twice are added up."""
    run = subprocess.run(["taskset", "-c", "0", tessera, "opt", text, "--passes", passes,
                          "--timing", "-o", os.devnull], capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"{passes}: {run.stderr}")
    times: dict[str, float] = {}
    for name, milliseconds in re.findall(r"^\s*([a-z-]+)\s+([0-9.]+) ms$", run.stderr, re.M):
        times[name] = times.get(name, 0) + float(milliseconds) / 1e3
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tessera", type=Path, default=ROOT / "build/tessera")
    parser.add_argument("--nodes", type=int, nargs="*", default=[3000, 12000, 30000, 90000])
    options = parser.parse_args()
    print(f"# Partitioning by size of the graph\n\n{datetime.date.today()}, one core of "
          f"{platform.machine()}, `bench/partition_scaling.py`; seconds of the passes, without "
          "reading and printing.\n")
    print("| passes | " + " | ".join(f"{n:,} nodes" for n in options.nodes) + " |")
    print("|---|" + "---:|" * len(options.nodes))
    with tempfile.TemporaryDirectory() as folder:
        texts = []
        for nodes in options.nodes:
            texts.append(Path(folder) / f"{nodes}.relay")
            texts[-1].write_text(model(nodes))
        for name, passes in PIPELINES.items():
            columns = [pass_times(options.tessera, text, passes) for text in texts]
            print(f"| **{name}** | " + " | ".join(f"**{sum(c.values()):.2f}**" for c in columns)
                  + " |", flush=True)
            for step in columns[0]:
                print(f"| {step} | " + " | ".join(f"{c[step]:.3f}" for c in columns) + " |")


if __name__ == "__main__":
    main()
