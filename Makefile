# SPDX-License-Identifier: Apache-2.0
# The front door: every target works as the first command in a fresh clone.
SHELL := /bin/bash
JOBS ?= $(shell nproc)

# Seconds for each parser that the fuzzer of parsers feeds.
FUZZ_SECONDS ?= 60
# Graphs that the fuzzer of graphs and partitions makes, whatever time that takes.
FUZZ_GRAPHS ?= 10000

.PHONY: build command test check demo bench onnx-gate zoo fuzz guard sanitized kernels gpu-test \
  wheel wheel-test torch-models docs install-deps clean

build: install-deps
	@cmake --preset release >/dev/null
	@cmake --build build/release --parallel $(JOBS)
	@ln -sfn release/bin/tessera build/tessera

# The command alone, with what it links and hands to the linker: no tests.
command: install-deps
	@cmake --preset release >/dev/null
	@cmake --build build/release --parallel $(JOBS) --target tessera_tessera_command
	@ln -sfn release/bin/tessera build/tessera

# What was skipped is said at the end, in whatever way the tests end.
test: build
	@rm -rf build/release/test-results
	GTEST_OUTPUT=xml:$(CURDIR)/build/release/test-results/ \
	ctest --test-dir build/release --parallel $(JOBS) --output-on-failure \
	  --label-exclude '^(slow|fuzz|fuzz-open|sanitized|gpu)$$'; status=$$?; \
	  scripts/skipped-tests.py build/release/test-results; exit $$status

check:
	@scripts/install-deps.sh --check
	@scripts/check.sh

demo: command
	@examples/minilm/run.sh

bench: build
	.deps/python/bin/python3 bench/run.py

# All model cases of libonnx-testdata and all node cases of the Python package onnx, against the two
# committed lists of each.
onnx-gate: build
	ctest --test-dir build/release --parallel $(JOBS) --output-on-failure -L '^onnx-gate$$'

# All models of tests/zoo by every back end alone and by all together, against onnxruntime. ZOO takes
# options of tests/zoo/run.py: `make zoo ZOO="--family speech --verbose"`.
zoo: build
	.deps/python/bin/python3 tests/zoo/run.py $(ZOO)

fuzz: build
	TESSERA_FUZZ_SECONDS=$(FUZZ_SECONDS) TESSERA_FUZZ_GRAPHS=$(FUZZ_GRAPHS) \
	  ctest --test-dir build/release --output-on-failure -L '^fuzz(-open)?$$'

# Libraries of small models, ONNX's cases and the zoo between guard pages, with hostile sizes and
# data.
guard: build
	ctest --test-dir build/release --output-on-failure -L '^guard-all$$'

# The same, and the fuzzer's graphs, compiled with sanitizers.
sanitized: build
	cmake --build build/release --parallel $(JOBS) --target tessera_sanitized
	ctest --test-dir build/release --output-on-failure -L '^sanitized-all$$'

# Kernels of CUTLASS, one of every kind, which nvcc takes half an hour for.
kernels: build
	ctest --test-dir build/release --output-on-failure -L '^on-demand$$'

# On a machine with a GPU: all shards, of eight minutes at most each, or those that SHARD names.
gpu-test: build
	@if [ -n "$(SHARD)" ]; then scripts/gpu-test.sh $(SHARD) || [ $$? = 77 ]; else \
	  ctest --test-dir build/release --output-on-failure -L '^gpu$$'; fi

# The package for Python: build/wheels/tessera-*.whl. It has the command of `make command`.
wheel: command
	@scripts/wheel.sh

wheel-test: wheel
	@scripts/wheel-test.sh

# The documents as a site: build/site/html/index.html. A link that leads nowhere is an error.
docs: command
	@scripts/install-deps.sh --docs
	@.deps/python/bin/python3 scripts/site/build.py

# torch.compile on models of torchvision and transformers, and the tests that need torch. TORCH takes
# options of tests/torch_models/run.py: `make torch-models TORCH="--model bert --threads 4"`.
torch-models: build
	@scripts/torch-models.sh $(TORCH)

install-deps:
	@scripts/install-deps.sh

clean:
	rm -rf build
