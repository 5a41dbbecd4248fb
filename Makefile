# SPDX-License-Identifier: Apache-2.0
# The front door: every target works as the first command in a fresh clone.
SHELL := /bin/bash
JOBS ?= $(shell nproc)

# Seconds for each parser that the fuzzer of parsers feeds.
FUZZ_SECONDS ?= 60
# Graphs that the fuzzer of graphs and partitions makes, whatever time that takes.
FUZZ_GRAPHS ?= 10000

.PHONY: build test check demo bench onnx-gate fuzz install-deps clean

build: install-deps
	@cmake --preset release >/dev/null
	@cmake --build build/release --parallel $(JOBS)
	@ln -sfn release/bin/tessera build/tessera

test: build
	ctest --test-dir build/release --parallel $(JOBS) --output-on-failure \
	  --label-exclude '^(slow|fuzz)$$'

check:
	@scripts/install-deps.sh --check
	@scripts/check.sh

demo: build
	@examples/minilm/run.sh

bench: build
	.deps/python/bin/python3 bench/run.py

# All model cases of libonnx-testdata, against the two committed lists.
onnx-gate: build
	ctest --test-dir build/release --parallel $(JOBS) --output-on-failure -L '^onnx-gate$$'

fuzz: build
	TESSERA_FUZZ_SECONDS=$(FUZZ_SECONDS) TESSERA_FUZZ_GRAPHS=$(FUZZ_GRAPHS) \
	  ctest --test-dir build/release --output-on-failure -L '^fuzz$$'

install-deps:
	@scripts/install-deps.sh

clean:
	rm -rf build
