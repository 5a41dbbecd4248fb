// SPDX-License-Identifier: Apache-2.0
#include "lower/index_check.h"

#include <algorithm>

#include <fmt/format.h>

#include "ops/records/check_indices.h"
#include "relay/operator.h"
#include "relay/rewrite.h"
#include "tir/conditions.h"
#include "tir/expr_ops.h"
#include "tir/simplify.h"
#include "tir/walk.h"

namespace tessera::lower {
namespace {

using relay::Function;
using relay::NodeId;
using tir::Expr;
using tir::Stmt;

// The node or line that wants the check, without the file: a library does not depend on where its
// model lay. Braces would read as values.
std::string name_of(const Location& place) {
  if (!place) return "a node without a name";
  std::string name;
  if (const auto* node = std::get_if<ModelNode>(&place->place)) {
    name = fmt::format("node `{}`", node->node);
  } else if (const auto* fused = std::get_if<Fused>(&place->place)) {
    for (const Location& part : fused->parts) {
      name += (name.empty() ? "" : ", ") + name_of(part);
    }
  } else {
    const auto& range = std::get<FileRange>(place->place);
    const auto at = range.file->position(range.begin);
    name = fmt::format("line {}, column {}", at.line, at.column);
  }
  return name;
}

class IndexChecks {
 public:
  IndexChecks(tir::PrimFunc kernel, const Function& f, relay::RegionId region, NodeId call,
              const ConstantPool& pool)
      : kernel_(std::move(kernel)),
        place_(tir::quoted_in_sentence(name_of(f[call].location))),
        attrs_(relay::read_attrs<ops::CheckIndicesAttrs>(f.as<relay::OpCall>(call)->attrs)),
        has_data_(f.operands(call).size() == 2) {
    indices_ = input_of(f, region, f.operands(call)[0]);
    // A constant of one element is in the text of the kernel.
    const auto* constant = f.as<relay::Constant>(f.operands(call)[0]);
    const Tensor* known = constant == nullptr ? nullptr : &pool.resolve(constant->value);
    if (known != nullptr && known->num_elements() == 1) literal_ = Expr(element_as_int(*known, 0));
    if (has_data_) data_ = input_of(f, region, f.operands(call)[1]);
  }

  bool is_possible() const { return !has_data_ || data_; }

  tir::PrimFunc run() {
    kernel_.body = with_checks(kernel_.body);
    kernel_.attrs["checks"] = "indices";
    return tir::simplify(kernel_);
  }

 private:
  // Null for what is no parameter.
  tir::Buffer input_of(const Function& f, relay::RegionId region, NodeId id) const {
    const auto& params = f.region(region).params;
    const auto at = std::find(params.begin(), params.end(), id) - params.begin();
    const auto place = static_cast<std::size_t>(at);
    return place < params.size() && place < kernel_.inputs.size() ? kernel_.inputs[place]
                                                                  : tir::Buffer();
  }

  std::vector<Expr> data_shape() const { return data_ ? data_->shape : std::vector<Expr>{}; }

  // An axis whose size a run tells has elements, if there are indices: a device goes on after an
  // index outside, and its readers, which bound what they are given, need one element.
  std::vector<Stmt> size_checks() const {
    std::vector<Stmt> checks;
    Expr count = 1;
    for (const Expr& n : kernel_.outputs[0]->shape) count = count * n;
    for (std::size_t k = 0; k < attrs_.axes.size(); ++k) {
      const ops::IndexedAxis a = ops::indexed_axis(attrs_, data_shape(), k);
      if (tir::as_int(a.size) != nullptr) continue;
      checks.push_back(
          tir::Require::make(tir::logical_or(tir::lt(Expr(0), a.size), tir::eq(count, Expr(0))),
                             place_ + ": its indices are of axis {}, which has no elements",
                             std::vector<Expr>{a.axis}));
    }
    return checks;
  }

  // After the definitions of what the kernel has besides its operands.
  Stmt with_checks(const Stmt& s) const {
    if (tir::scope_of(s) != nullptr) {
      return tir::with_scope(s, with_checks(*tir::scope_of(s)));
    }
    std::vector<Stmt> all = size_checks();
    all.push_back(checked(s));
    return tir::seq(std::move(all));
  }

  Stmt checked(const Stmt& s) const {
    const auto* store = s.as<tir::Store>();
    if (store != nullptr) return tir::seq({condition(*store), s});
    return tir::map_children(s, tir::Overloaded{[&](const Stmt& child) { return checked(child); },
                                                [](const Expr& e) { return e; }});
  }

  Stmt condition(const tir::Store& store) const {
    const std::vector<Expr>& at = store.indices;
    Expr number = 0;  // of the element, among all
    for (std::size_t i = 0; i < at.size(); ++i) {
      number = i == 0 ? at[0] : number * store.buffer->shape[i] + at[i];
    }
    Expr index = literal_;
    if (indices_) index = tir::cast(tir::load(indices_, at), kInt64);
    tir::for_each_node(store.value, [&](const Expr& e) {  // a table loads nothing else
      if (!index && e.as<tir::Load>() != nullptr) index = tir::cast(e, kInt64);
    });
    TESSERA_CHECK(index, "a check of indices that reads none");
    const ops::IndexedAxis a = ops::indexed_axis(attrs_, data_shape(), at);
    return tir::Require::make(
        ops::is_inside(index, a.size),
        place_ +
            ": the index {} at element {} of its indices lies outside of axis {}, which has {} "
            "elements",
        std::vector<Expr>{index, number, a.axis, a.size});
  }

  tir::PrimFunc kernel_;
  const std::string place_;
  const ops::CheckIndicesAttrs attrs_;
  const bool has_data_;
  tir::Buffer indices_, data_;
  Expr literal_;
};

}  // namespace

Result<tir::PrimFunc> with_index_checks(tir::PrimFunc kernel, const Function& f,
                                        relay::RegionId region, const ConstantPool& pool) {
  for (const NodeId id : relay::nodes_within(f, region)) {
    if (!relay::is_call_of(f, id, "check_indices")) continue;
    const bool is_alone =
        id == f.region(region).result && f.as<relay::OpCall>(f.operands(id)[0]) == nullptr;
    IndexChecks checks(std::move(kernel), f, region, id, pool);
    if (is_alone && checks.is_possible()) return checks.run();
    return fail(error(Code::kNotSupported, f[id].location,
                      "`check_indices` shares a primitive function with other operators")
                    .with_remedy("call it outside of that function"));
  }
  return kernel;
}

}  // namespace tessera::lower
