// SPDX-License-Identifier: Apache-2.0
#include "byoc/adopt.h"

#include <algorithm>
#include <set>

#include "byoc/compiler_functions.h"
#include "byoc/given_composites.h"
#include "byoc/outline.h"
#include "ops/inference/infer_types.h"
#include "relay/inline_literals.h"
#include "support/source.h"

namespace tessera::byoc {
namespace {

using relay::Function;

// A legal symbol near the function's own one.
std::string symbol_hint(const Function& f) {
  std::string hint = f.attrs.string_or_empty("global_symbol");
  if (hint.empty()) hint = f.attrs.string_or_empty("Compiler") + "_function";
  return c_identifier(hint);
}

void remove_unused(Module& module) {
  for (bool again = true; again;) {
    std::set<std::string> used;
    for (const auto& [name, f] : module.functions) {
      for (std::size_t i = 0; i < f.num_nodes(); ++i) {
        const auto* global = f.as<relay::GlobalRef>(relay::NodeId{i});
        if (global != nullptr && global->name != name) used.insert(global->name);
      }
    }
    again = std::erase_if(module.functions, [&](const auto& entry) {
              return is_compiler_function(entry.second.attrs, "") && !used.contains(entry.first);
            }) != 0;
  }
}

class Adoption {
 public:
  Adoption(const FindBackend& find, CompileContext& context) : find_(find), context_(context) {}

  Result<Adopted> run(Module module) {
    SharedGlobalSymbols symbols(symbol_hint, module);
    TESSERA_TRY(module, outline_functions(std::move(module), symbols, ""));
    remove_unused(module);
    const std::vector<std::string> given = compiler_functions(module, "");
    out_.outcome.module = std::move(module);
    if (given.empty()) return std::move(out_);
    for (const std::string& name : given) adopt(name);
    if (!errors_.empty()) return fail(std::move(errors_));
    TESSERA_TRY(module,
                inline_functions(std::move(out_.outcome.module), {given.begin(), given.end()}));
    TESSERA_TRY(out_.outcome.module, ops::infer_types(std::move(module)));
    return std::move(out_);
  }

 private:
  void adopt(const std::string& name) {
    Function& f = out_.outcome.module.functions.at(name);
    const std::string compiler = f.attrs.string_or_empty("Compiler");
    const auto found = find_(compiler);
    if (const auto* why = std::get_if<Refusal>(&found)) return decline(name, f, why->reason);
    const auto& choice = std::get<BackendChoice>(found);
    remember(choice);
    const std::vector<GivenComposite> given = given_composites(f);
    for (const GivenComposite& composite : given)
      tell_if_apart(name, f.location, composite, choice);
    const WithGivenComposites backend(choice, given);
    const BackendChoice alone{&backend, choice.target};
    // An ordinary function for as long as it is partitioned.
    const relay::Attrs attrs = f.attrs;
    f = relay::inline_literals(f);
    f.attrs = {};
    partition_function(name, {&alone, 1}, out_.outcome);
    out_.outcome.module.functions.at(name).attrs = attrs;
  }

  // A composite that does not stay whole.
  void tell_if_apart(const std::string& name, const Location& at, const GivenComposite& composite,
                     const BackendChoice& choice) {
    auto reasons = why_apart(composite, choice, out_.outcome.module.constants);
    if (!reasons) return;
    report(
        error(Code::kBackendFailed, at, "`{}` does not take the composite `{}` of `@{}` whole: {}",
              choice.backend->name(), composite.name, name, reasons->front().reason),
        "each operator goes to the first back end that takes it");
    auto& refusals = out_.outcome.refusals;
    refusals.insert(refusals.end(), reasons->begin(), reasons->end());
  }

  void remember(const BackendChoice& choice) {
    const bool known =
        std::any_of(out_.choices.begin(), out_.choices.end(),
                    [&](const BackendChoice& c) { return c.backend == choice.backend; });
    if (!known) out_.choices.push_back(choice);
  }

  void decline(const std::string& name, Function& f, const std::string& why) {
    Diagnostic d = error(Code::kBackendMissing, f.location, "`@{}` is for `{}`: {}", name,
                         f.attrs.string_or_empty("Compiler"), why);
    f = relay::inline_literals(f);
    report(std::move(d), "its operators go to others");
  }

  // An error if the user is strict, else a warning that says what happens.
  void report(Diagnostic d, const std::string& consequence) {
    if (context_.strict) {
      errors_.add(std::move(d).with_remedy("without --strict " + consequence));
      return;
    }
    d.severity = Severity::kWarning;
    context_.warnings.push_back(std::move(d).with_remedy(consequence));
  }

  const FindBackend& find_;
  CompileContext& context_;
  Adopted out_;
  Diagnostics errors_;
};

}  // namespace

Result<Adopted> adopt_compiler_functions(Module module, const FindBackend& find,
                                         CompileContext& context) {
  return Adoption(find, context).run(std::move(module));
}

}  // namespace tessera::byoc
