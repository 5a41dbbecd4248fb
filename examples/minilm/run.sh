#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The demo: real weights -> ONNX -> one shared library -> a C program that embeds sentences.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=.deps/python/bin/python3
out=build/demo
mkdir -p "$out"

step() {
  printf '\n$ %s\n' "$*"
  "$@"
}

step $python examples/minilm/write_onnx.py "$out/minilm.onnx"
step build/tessera compile "$out/minilm.onnx" -o "$out/minilm.so" --bundle
step cc -std=c11 -Wall -Wextra -I include examples/minilm/embed.c "$out/minilm.so" \
  -Wl,-rpath,'$ORIGIN' -o "$out/embed"
step $python examples/minilm/demo.py --onnx "$out/minilm.onnx" --library "$out/minilm.so" \
  --embed "$out/embed"
