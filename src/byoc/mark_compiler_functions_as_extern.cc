// SPDX-License-Identifier: Apache-2.0
#include "byoc/outline.h"
#include "passes/pass.h"

namespace tessera::byoc {
namespace {

Result<Module> run_mark_compiler_functions_as_extern(Module module, passes::PassContext& context) {
  const auto options = relay::read_attrs<FilterOptions>(context.options);
  return mark_functions_as_extern(std::move(module), options.filter);
}

}  // namespace

extern const passes::Pass mark_compiler_functions_as_extern;
const passes::Pass mark_compiler_functions_as_extern{
    .name = "mark-compiler-functions-as-extern",
    .summary = "leaves global functions with `Compiler` no attribute but `Extern=1`",
    .options = relay::attr_schema<FilterOptions>,
    .run = run_mark_compiler_functions_as_extern,
};

}  // namespace tessera::byoc
