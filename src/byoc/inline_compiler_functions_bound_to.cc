// SPDX-License-Identifier: Apache-2.0
#include "byoc/outline.h"
#include "passes/pass.h"

namespace tessera::byoc {
namespace {

struct InlineOptions {
  std::vector<std::string> globals;
  static constexpr auto fields =
      std::tuple{relay::required_attr("globals", &InlineOptions::globals)};
};

Result<Module> run_inline_compiler_functions_bound_to(Module module, passes::PassContext& context) {
  const auto options = relay::read_attrs<InlineOptions>(context.options);
  std::set<std::string> symbols;
  for (const std::string& name : options.globals) {
    symbols.insert(name.starts_with('@') ? name.substr(1) : name);
  }
  return inline_functions(std::move(module), symbols);
}

}  // namespace

extern const passes::Pass inline_compiler_functions_bound_to;
const passes::Pass inline_compiler_functions_bound_to{
    .name = "inline-compiler-functions-bound-to",
    .summary = "puts the bodies of global functions with `Compiler` back into their callers",
    .options = relay::attr_schema<InlineOptions>,
    .run = run_inline_compiler_functions_bound_to,
};

}  // namespace tessera::byoc
