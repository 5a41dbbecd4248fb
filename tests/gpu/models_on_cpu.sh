#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The models that run on a GPU thirty times, and the program that compares them, on a CPU.
#   models_on_cpu.sh TESSERA PYTHON FOLDER
set -euo pipefail
cd "$(dirname "$0")"
mkdir -p "$3"
"$2" models.py "$3"
for model in "$3"/*.onnx; do
  "$1" compile "$model" -o "${model%.onnx}.so" --partition none >"${model%.onnx}.log"
done
"$2" repeat.py "$3" --runs 2
