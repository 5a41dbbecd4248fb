// SPDX-License-Identifier: Apache-2.0
// Sizes that a host program finds as it runs.
#include "lower/host_program.h"
#include "tir/expr_ops.h"

namespace tessera::lower {

// Sizes are read by the program itself: kStack, unless the caller of the program reads them, too.
HostValue HostProgram::add_sizes(const std::string& name, std::size_t count,
                                 tir::MemoryScope scope) {
  Root root;
  const std::vector<tir::Expr> shape = {tir::Expr(static_cast<std::int64_t>(count))};
  root.buffer = scope == tir::MemoryScope::kStack
                    ? tir::make_host_buffer(name, kInt64, shape, scope)
                    : tir::make_buffer(name, kInt64, shape, scope);
  roots_.push_back(std::move(root));
  return {static_cast<int>(roots_.size()) - 1, -1};
}

void HostProgram::call_for_sizes(HostCall call, const std::vector<std::string>& symbols) {
  const HostValue sizes = add_sizes("sizes", symbols.size(), tir::MemoryScope::kStack);
  comes_with_next_step(sizes);
  call_into(std::move(call), sizes);
  bind(sizes, symbols);
}

std::string HostProgram::fresh_symbol() {
  std::string name;
  do {
    name = fmt::format("size_{}", run_time_symbols_.size());
    while (symbols_.contains(name) || named_.contains(name)) name += "_";
  } while (!run_time_symbols_.insert(name).second);
  symbols_.emplace(name, tir::make_var(name));
  return name;
}

void HostProgram::bind(HostValue sizes, const std::vector<std::string>& symbols) {
  add_step(StepKind::kBind, {"", {sizes}, {}}).symbols = symbols;
}

bool HostProgram::has_run_time_size(const Type& type) const {
  for (const Dim& dim : type.shape()) {
    for (const std::string& symbol : dim.symbols()) {
      if (run_time_symbols_.contains(symbol)) return true;
    }
  }
  return false;
}

// The sizes that are `?` or differ from run to run are elements of a vector.
HostValue HostProgram::add_late_root(const std::string& name, const Type& type,
                                     tir::MemoryScope of_sizes) {
  const HostValue sizes = add_sizes(name + "_sizes", type.rank(), of_sizes);
  std::vector<tir::Expr> shape;
  for (const Dim& dim : type.shape()) {
    const bool late = dim.is_unknown() || has_run_time_size(tensor_type({dim}, kInt64));
    const auto at = static_cast<std::int64_t>(shape.size());
    shape.push_back(late ? tir::load(root(sizes.root).buffer, {tir::Expr(at)}) : size(dim));
  }
  Root late;
  late.buffer = tir::make_buffer(name, type.dtype(), std::move(shape));
  late.sizes = sizes.root;
  roots_.push_back(std::move(late));
  return {static_cast<int>(roots_.size()) - 1, -1};
}

HostValue HostProgram::declare_late(const std::string& name, const Type& type) {
  const HostValue late = add_late_root(name, type, tir::MemoryScope::kStack);
  const HostValue sizes{root(late.root).sizes, -1};
  for (const HostValue& v : {sizes, late}) comes_with_next_step(v);
  add_step(StepKind::kDeclare).outputs = {sizes, late};
  return late;
}

HostValue HostProgram::late_output(const std::string& name, const Type& type) {
  const HostValue late = add_late_root(name, type, tir::MemoryScope::kGlobal);
  late_outputs_.insert(late.root);
  return late;
}

void HostProgram::reserve(HostValue late, const Type& type) {
  Step& step = add_step(StepKind::kReserve);
  step.outputs = {late};
  step.call.dims = type.shape();
}

HostValue HostProgram::opened(HostValue late, Type& type) {
  Shape shape = type.shape();
  std::vector<std::string> symbols;
  for (const tir::Expr& extent : root(late.root).buffer->shape) {
    const std::size_t d = symbols.size();
    const bool is_late = extent.as<tir::Load>() != nullptr;
    symbols.push_back(is_late ? fresh_symbol() : "");
    if (is_late) shape[d] = Dim::symbol(symbols.back());
  }
  bind({root(late.root).sizes, -1}, symbols);
  type = tensor_type(std::move(shape), type.dtype());
  return view(late, type);
}

}  // namespace tessera::lower
