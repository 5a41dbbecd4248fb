// SPDX-License-Identifier: Apache-2.0
#include "emit/outer_indices.h"

#include <algorithm>
#include <vector>

#include "tir/compare.h"
#include "tir/expr_ops.h"
#include "tir/walk.h"

namespace tessera::emit {
namespace {

using tir::Expr;
using tir::Stmt;

// What is read for an index, wherever the value is computed: what a choice chooses may not be read
// otherwise.
class OuterIndices {
 public:
  OuterIndices(const tir::For& loop, const tir::Store& store) : loop_(loop), store_(store) {
    look(store.value);
  }
  const std::vector<Expr>& found() const { return found_; }

 private:
  void look(const Expr& e) {
    if (e.as<tir::Select>() != nullptr) return;
    if (const auto* load = e.as<tir::Load>()) {
      for (const Expr& index : load->indices) {
        tir::for_each_node(index, [&](const Expr& inner) { take(inner); });
      }
    }
    tir::for_each_child(e, [&](const Expr& child) { look(child); });
  }

  void take(const Expr& e) {
    const auto* load = e.as<tir::Load>();
    const bool is_outer = load != nullptr && load->dtype.is_int() &&
                          load->buffer != store_.buffer && !tir::uses_var(e, loop_.var);
    const auto is_same = [&](const Expr& f) { return tir::equal(e, f); };
    if (is_outer && std::ranges::none_of(found_, is_same)) found_.push_back(e);
  }

  const tir::For& loop_;
  const tir::Store& store_;
  std::vector<Expr> found_;
};

class Replaced : public tir::Mutator {
 public:
  Replaced(const std::vector<Expr>& loads, const std::vector<Expr>& vars)
      : loads_(loads), vars_(vars) {}
  using Mutator::mutate;
  Expr mutate(const Expr& e) override {
    const auto at =
        std::ranges::find_if(loads_, [&](const Expr& load) { return tir::equal(e, load); });
    return at == loads_.end() ? Mutator::mutate(e) : vars_[at - loads_.begin()];
  }

 private:
  const std::vector<Expr>&loads_, &vars_;
};

}  // namespace

std::optional<Stmt> with_indices_in_front(const tir::For& loop) {
  const std::int64_t* lanes = tir::as_int(loop.extent);
  const auto* store = loop.body.as<tir::Store>();
  if (lanes == nullptr || *lanes < 1 || store == nullptr ||
      store->buffer->dtype.size_bytes() != 1) {
    return std::nullopt;
  }
  const std::vector<Expr> loads = OuterIndices(loop, *store).found();
  if (loads.empty()) return std::nullopt;
  std::vector<Expr> vars;
  for (const Expr& load : loads) vars.push_back(tir::make_var("at", load.dtype()));
  Stmt out =
      tir::For::make(loop.var, loop.min, loop.extent, loop.loop, Replaced(loads, vars)(loop.body));
  for (std::size_t i = loads.size(); i-- > 0;) out = tir::LetStmt::make(vars[i], loads[i], out);
  return out;
}

}  // namespace tessera::emit
