// SPDX-License-Identifier: Apache-2.0
#include "emit/host_shapes.h"

#include <algorithm>

#include "plan/plan.h"

namespace tessera::emit {
namespace {

// Neither a number nor a formal dimension itself.
bool is_expression(const tir::Expr& size) {
  return tir::as_int(size) == nullptr && size.as<tir::Var>() == nullptr;
}

}  // namespace

Source define_dims(const tir::PrimFunc& main, KernelScope& scope, Literal array) {
  Source text;
  for (std::size_t i = 0; i < main.dims.size(); ++i) {
    scope.bounds.set_size(main.dims[i]);
    text += source("  [[maybe_unused]] const int64_t {} = {}[{}];\n", scope.name(main.dims[i]),
                   array, i);
  }
  return text;
}

bool has_input_expressions(const tir::PrimFunc& main) {
  return std::any_of(main.inputs.begin(), main.inputs.end(), [](const tir::Buffer& b) {
    return std::any_of(b->shape.begin(), b->shape.end(), is_expression);
  });
}

Source emit_input_size(const tir::PrimFunc& main) {
  KernelScope scope;
  for (const std::string_view word : {"context", "dims", "input", "dimension"})
    scope.names.fresh(word);
  Source text(
      "int64_t tessera_size_of_input(void*, const int64_t* dims, int32_t input,\n"
      "                              int32_t dimension) {\n");
  text += define_dims(main, scope, "dims");
  for (std::size_t i = 0; i < main.inputs.size(); ++i) {
    const std::vector<tir::Expr>& shape = main.inputs[i]->shape;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (!is_expression(shape[d])) continue;
      text += source("  if (input == {} && dimension == {}) return {};\n", i, d,
                     expr_text(shape[d], scope));
    }
  }
  return text + "  return -1;\n}\n";
}

Source emit_output_shapes(const tir::PrimFunc& main) {
  KernelScope scope;
  for (const std::string_view word : {"context", "dims", "shapes"}) scope.names.fresh(word);
  Source text("void tessera_shapes_of_outputs(void*, const int64_t* dims, int64_t* shapes) {\n");
  text += define_dims(main, scope, "dims");
  std::size_t at = 0;
  for (const plan::ResultPort& p : plan::result_ports(main)) {
    for (const tir::Expr& e : p.buffer->shape) {
      const bool known = e.as<tir::Load>() == nullptr;
      text += source("  shapes[{}] = {};\n", at++, known ? expr_text(e, scope) : Source("-1"));
    }
  }
  return text + (at == 0 ? Literal("  (void)shapes;\n}\n") : "}\n");
}

}  // namespace tessera::emit
