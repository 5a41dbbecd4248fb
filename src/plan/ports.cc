// SPDX-License-Identifier: Apache-2.0
// What a host program's tables say of its dimensions, inputs and outputs.
#include <algorithm>

#include "plan/plan.h"
#include "tir/dim_vars.h"

namespace tessera::plan {

ProgramSymbol program_symbol(const tir::Expr& dim, const SymbolTable& symbols) {
  const std::string& name = dim.as<tir::Var>()->name;
  const auto it = symbols.find(name);
  if (it == symbols.end()) return {name};
  return {name, it->second.min, it->second.max, it->second.step};
}

tir::Bounds dim_bounds(const tir::PrimFunc& main, const SymbolTable& symbols) {
  tir::Bounds bounds;
  for (const tir::Expr& dim : main.dims) {
    const ProgramSymbol s = program_symbol(dim, symbols);
    bounds.set(dim, {s.min, s.max < 0 ? tir::Interval::kAny : s.max});
  }
  return bounds;
}

std::vector<ResultPort> result_ports(const tir::PrimFunc& main) {
  std::vector<ResultPort> ports;
  for (const tir::Buffer& b : main.outputs) {
    const tir::Buffer sizes = tir::sizes_vector(b);
    if (sizes) std::erase_if(ports, [&](const ResultPort& p) { return p.buffer == sizes; });
    ports.push_back({b, sizes});
  }
  return ports;
}

PortShape port_shape(const tir::BufferNode& buffer, const std::vector<tir::Expr>& dims,
                     const tir::Bounds& bounds) {
  PortShape port;
  for (const tir::Expr& e : buffer.shape) {
    const std::int64_t* n = tir::as_int(e);
    const tir::Interval range = tir::size_range(e, bounds);
    port.is_dynamic |= n == nullptr;
    port.shape.push_back(n == nullptr ? -1 : *n);
    port.min.push_back(range.has_min() ? std::max<std::int64_t>(range.min, 0) : 0);
    port.max.push_back(range.has_max() ? range.max : -1);
    const auto it = std::find_if(dims.begin(), dims.end(),
                                 [&](const tir::Expr& dim) { return dim.same_as(e); });
    port.symbols.push_back(it == dims.end() ? -1 : static_cast<std::int32_t>(it - dims.begin()));
  }
  return port;
}

}  // namespace tessera::plan
