// SPDX-License-Identifier: Apache-2.0
#include "byoc/outline.h"
#include "passes/pass.h"

namespace tessera::byoc {
namespace {

Result<Module> run_outline_compiler_functions(Module module, passes::PassContext& context) {
  const auto options = relay::read_attrs<FilterOptions>(context.options);
  ExistingGlobalSymbols symbols;
  return outline_functions(std::move(module), symbols, options.filter);
}

}  // namespace

extern const passes::Pass outline_compiler_functions;
const passes::Pass outline_compiler_functions{
    .name = "outline-compiler-functions",
    .summary = "makes globals of called function literals with `Compiler`",
    .options = relay::attr_schema<FilterOptions>,
    .run = run_outline_compiler_functions,
};

}  // namespace tessera::byoc
