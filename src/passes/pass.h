// SPDX-License-Identifier: Apache-2.0
// What a pass is: a function from module to module with a name and typed options. contract.md of
// the design, docs/passes.md here, say what each means. Folders export their passes as a list;
// driver/ joins them.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "diagnostics/diagnostic.h"
#include "module/module.h"
#include "passes/float_operators.h"
#include "passes/weights_report.h"
#include "relay/operator.h"
#include "relay/patterns/pattern_table.h"

namespace tessera::passes {

struct PassContext {
  const relay::Attrs& options;  // normalised for the pass's schema
  const relay::OperatorTable& operators;
  std::span<const Target> targets;
  std::vector<Diagnostic> warnings;
  std::span<const relay::PatternTable> pattern_tables = {};
  // A line about what a pass tries with patterns, and why it declines; empty if nobody listens.
  std::function<void(const std::string&)> trace_patterns = {};
  std::vector<WeightRow> weights = {};  // of quantize-weights: what became of them
  // Of what `main` of the module gives, numbers: the greatest of each over the runs of a
  // calibration. Empty where there is none.
  std::function<Result<std::vector<double>>(Module)> greatest_results = {};
  std::vector<FloatOperators> float_operators = {};  // of list-float-operators
};

// One file `<name with underscores>.cc` defines `extern const Pass <that>`, one line in passes.def
// lists it.
struct Pass {
  std::string_view name;     // "fold-constant"
  std::string_view summary;  // one sentence, for --help and docs
  const relay::AttrSchema& (*options)() = relay::attr_schema<relay::NoAttrs>;
  bool needs_types = true;  // the manager infers them before the pass
  Result<Module> (*run)(Module, PassContext&) = nullptr;
};

// The passes of this folder, in the order of passes.def.
std::span<const Pass* const> all_passes();

// Replaces each optimizable function by rewrite(function, the module's constants).
template <class F>
Module map_optimizable(Module module, F&& rewrite) {
  for (auto& [name, function] : module.functions) {
    if (!relay::is_optimizable(function)) continue;
    CheckContext context("in @" + name);
    function = rewrite(std::as_const(function), std::as_const(module.constants));
  }
  return module;
}

}  // namespace tessera::passes
