// SPDX-License-Identifier: Apache-2.0
#include "plan/workspace_dims.h"

#include <algorithm>

#include "tir/dim_vars.h"
#include "tir/walk.h"

namespace tessera::plan {
namespace {

using AllDims = std::map<std::string, std::vector<std::int64_t>>;

// A size of a signature, and where it appears first.
struct Formal {
  Dim dim;
  std::size_t tensor, axis;
};

std::vector<Formal> formals_of(const Extern& e) {
  std::vector<Type> tensors = e.inputs;
  tensors.insert(tensors.end(), e.outputs.begin(), e.outputs.end());
  std::vector<Formal> formals;
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    const Shape& shape = tensors[t].shape();
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const Dim& dim = shape[axis];
      const auto is_same = [&](const Formal& f) { return !dim.is_unknown() && f.dim == dim; };
      if (dim.is_constant() || std::ranges::any_of(formals, is_same)) continue;
      formals.push_back({dim, t, axis});
    }
  }
  return formals;
}

Diagnostic unbounded(const std::string& symbol, const Extern& e, const Dim& dim) {
  return error(
             Code::kNotSupported, e.sources.empty() ? nullptr : e.sources.front(),
             "`{}` of back end `{}` tells its workspace for the largest sizes, and {} has no bound",
             symbol, e.backend,
             dim.is_unknown() ? std::string("one of its sizes") : "`" + to_string(dim) + "`")
      .with_remedy("give the size a range, as --dim seq=1..512 does, or name other back ends");
}

// Raises the largest values of the symbol to those of one call.
Result<void> add_call(const tir::CallKernel& call, const Extern& e, const tir::Bounds& bounds,
                      AllDims& all) {
  std::vector<tir::Buffer> buffers = call.inputs;
  buffers.insert(buffers.end(), call.outputs.begin(), call.outputs.end());
  const std::vector<Formal> formals = formals_of(e);
  std::vector<std::int64_t>& largest = all[call.symbol];
  largest.resize(formals.size(), 0);
  for (std::size_t i = 0; i < formals.size(); ++i) {
    const auto& [dim, tensor, axis] = formals[i];
    TESSERA_CHECK(tensor < buffers.size(), "`{}` is called with too few tensors", call.symbol);
    const tir::Interval range = tir::size_range(buffers[tensor]->shape[axis], bounds);
    if (!range.has_max()) return fail(unbounded(call.symbol, e, dim));
    largest[i] = std::max(largest[i], range.max);
  }
  return {};
}

}  // namespace

Result<AllDims> workspace_dims(const tir::PrimFunc& main, const Module& module) {
  const tir::Bounds bounds = dim_bounds(main, module.symbols);
  AllDims all;
  Diagnostics errors;
  tir::for_each_node(main.body, [&](const tir::Stmt& s) {
    const auto* call = s.as<tir::CallKernel>();
    if (call == nullptr) return;
    const auto found = module.externs.find(call->symbol);
    if (found == module.externs.end() || found->second.workspace.query.empty()) return;
    if (auto added = add_call(*call, found->second, bounds, all); !added) {
      errors.add(std::move(added).error());
    }
  });
  if (!errors.empty()) return fail(std::move(errors));
  return all;
}

}  // namespace tessera::plan
