// SPDX-License-Identifier: Apache-2.0
// Runs passes in order: infers types where a pass needs them, times, verifies, dumps.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "passes/pipeline_text.h"

namespace tessera::passes {

struct PassTime {
  std::string name;
  double seconds = 0;
  bool changed = false;  // by structural hash
};

struct ManagerOptions {
  bool verify_each = false;
  std::string dump_dir;    // "": none; files 07_fold-constant.relay, as `dump` writes them
  std::string stop_after;  // the name of a pass; "": run all
  // Writes a module to a file for `dump_dir`; receives the file's stem.
  std::function<Result<void>(const Module&, const std::string& stem)> dump;
  std::function<void(const PassTime&, const Module&)> after_each;  // --print-changed, progress
  std::span<const relay::PatternTable> pattern_tables = {};        // for merge-composite, by name
  std::function<void(const std::string&)> trace_patterns;          // --trace-patterns, a line each
  std::function<Result<std::vector<double>>(Module)> greatest_results;  // PassContext has it
};

struct ManagerOutcome {
  Module module;
  std::vector<PassTime> times;
  std::vector<Diagnostic> warnings;
  std::vector<WeightRow> weights;               // of quantize-weights
  std::vector<FloatOperators> float_operators;  // of list-float-operators
};

Result<ManagerOutcome> run_passes(Module module, std::span<const PassCall> calls,
                                  const relay::OperatorTable& operators,
                                  const ManagerOptions& options = {});

}  // namespace tessera::passes
