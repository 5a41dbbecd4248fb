// SPDX-License-Identifier: Apache-2.0
#include "passes/manager.h"

#include <chrono>

#include <fmt/format.h>

#include "ops/inference/infer_types.h"
#include "relay/structural_equal.h"
#include "relay/verify.h"

namespace tessera::passes {
namespace {

// Changes exactly if a function or prim function does.
std::uint64_t fingerprint(const Module& module) {
  std::uint64_t h = module.functions.size();
  for (const auto& [name, f] : module.functions) {
    h = hash_combine(h, hash_text(name).low);
    h = hash_combine(h, relay::structural_hash(f, &module.constants));
  }
  return h;
}

// What is wrong with the call itself, such as the value of an option, has no place in the module.
Diagnostics placed(Diagnostics findings, const Location& call) {
  for (Diagnostic& finding : findings.list) {
    if (!finding.location) finding.location = call;
  }
  return findings;
}

class Manager {
 public:
  Manager(const relay::OperatorTable& operators, const ManagerOptions& options)
      : operators_(operators), options_(options) {}

  Result<ManagerOutcome> run(Module module, std::span<const PassCall> calls) {
    outcome_.module = std::move(module);
    int number = 0;
    for (const PassCall& call : calls) {
      TESSERA_TRY_VOID(step(call, number++));
      if (call.pass->name == options_.stop_after) break;
    }
    return std::move(outcome_);
  }

 private:
  Result<void> step(const PassCall& call, int number) {
    CheckContext context(fmt::format("in pass {}", call.pass->name));
    const auto begin = std::chrono::steady_clock::now();
    if (call.pass->needs_types) {
      TESSERA_TRY(outcome_.module, ops::infer_types(std::move(outcome_.module)));
    }
    const std::uint64_t before = watches_changes() ? fingerprint(outcome_.module) : 0;
    PassContext pass_context{call.options,
                             operators_,
                             outcome_.module.targets,
                             {},
                             options_.pattern_tables,
                             options_.trace_patterns,
                             {},
                             options_.greatest_results};
    Result<Module> changed = call.pass->run(std::move(outcome_.module), pass_context);
    if (!changed) return fail(placed(std::move(changed).error(), call.place));
    outcome_.module = *std::move(changed);
    PassTime time{std::string(call.pass->name), 0, false};
    time.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    time.changed = watches_changes() && fingerprint(outcome_.module) != before;
    for (Diagnostic& w : pass_context.warnings) outcome_.warnings.push_back(std::move(w));
    for (WeightRow& row : pass_context.weights) outcome_.weights.push_back(std::move(row));
    for (FloatOperators& row : pass_context.float_operators) {
      outcome_.float_operators.push_back(std::move(row));
    }
    TESSERA_TRY_VOID(observe(time, number));
    outcome_.times.push_back(std::move(time));
    return {};
  }

  bool watches_changes() const {
    return options_.after_each != nullptr || !options_.dump_dir.empty();
  }

  Result<void> observe(const PassTime& time, int number) {
    if (options_.verify_each) {
      for (const auto& [name, f] : outcome_.module.functions) {
        const Diagnostics findings = relay::verify(f);
        TESSERA_CHECK(findings.empty(), "after {}, @{}: {}", time.name, name, render(findings));
      }
    }
    if (!options_.dump_dir.empty() && options_.dump) {
      const std::string stem = fmt::format("{}/{:02}_{}", options_.dump_dir, number, time.name);
      TESSERA_TRY_VOID(options_.dump(outcome_.module, stem));
    }
    if (options_.after_each) options_.after_each(time, outcome_.module);
    return {};
  }

  const relay::OperatorTable& operators_;
  const ManagerOptions& options_;
  ManagerOutcome outcome_;
};

}  // namespace

Result<ManagerOutcome> run_passes(Module module, std::span<const PassCall> calls,
                                  const relay::OperatorTable& operators,
                                  const ManagerOptions& options) {
  return Manager(operators, options).run(std::move(module), calls);
}

}  // namespace tessera::passes
