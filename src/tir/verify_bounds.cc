// SPDX-License-Identifier: Apache-2.0
#include "tir/verify_bounds.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "tir/print.h"
#include "tir/walk.h"

namespace tessera::tir {
namespace {

Interval range_of_data(const Tensor& data) {
  if (!data.dtype.is_int() || data.num_elements() == 0) return {};
  Interval out{Interval::kAny, Interval::kNone};
  for (std::int64_t i = 0; i < data.num_elements(); ++i) {
    const std::int64_t value = element_as_int(data, i);
    out = {std::min(out.min, value), std::max(out.max, value)};
  }
  return out;
}

class BoundsVerifier {
 public:
  BoundsVerifier(Prover& prover, const KnownData& data)
      : prover_(prover), data_(data), constants_(data.buffers) {}

  std::vector<std::string> kernel(const PrimFunc& f) {
    for_each_node(f.body, [&](const Stmt& s) {
      if (const auto* store = s.as<Store>()) stored_.insert(store->buffer.get());
      if (const auto* view = s.as<View>()) viewed_.insert(view->source.get());
    });
    prover_.loaded = [this](const Load& n) { return loaded(n); };
    stmt(f.body);
    prover_.loaded = nullptr;
    return std::move(found_);
  }

 private:
  Prover::Loaded loaded(const Load& n) const {
    Prover::Loaded out;
    const auto it = constants_.find(n.buffer.get());
    if (it != constants_.end()) out.range = range_of_data(*it->second);
    const bool changes = stored_.contains(n.buffer.get()) || viewed_.contains(n.buffer.get());
    out.is_constant = in_store_ || !changes;
    return out;
  }

  void report(std::string sentence) {
    if (std::find(found_.begin(), found_.end(), sentence) == found_.end()) {
      found_.push_back(std::move(sentence));
    }
  }

  template <class Part>
  void access(const Buffer& b, const std::vector<Expr>& indices, const Part& part) {
    for (std::size_t d = 0; d < indices.size(); ++d) {
      // Ranges show what needs no search, and see remainders as such.
      const Interval range = range_of(index_form(indices[d], ranges_), ranges_);
      const std::int64_t* extent = as_int(b->shape[d]);
      const bool ends = extent != nullptr && range.has_max() && range.max < *extent;
      const bool begins = range.has_min() && range.min >= 0;
      if (begins && ends) continue;
      const Polynomial at = prover_.form(indices[d]);
      const bool from_zero = begins || prover_.is_not_negative(at);
      if (from_zero && (ends || prover_.is_at_most(at + 1, prover_.form(b->shape[d])))) continue;
      report(fmt::format("index {} of `{}` is not proven to be {}", d, shown(b, indices, part),
                         from_zero ? "less than " + print(b->shape[d]) : "at least 0"));
    }
  }
  static std::string shown(const Buffer& b, const std::vector<Expr>& indices, const Expr&) {
    return print(load(b, indices));
  }
  static std::string shown(const Buffer& b, const std::vector<Expr>& indices, const Stmt&) {
    return print(load(b, indices)) + " = ...";
  }

  void expr(const Expr& e) {
    visit(
        e,
        [&](const Select& n) {
          expr(n.condition);
          under(n.condition, true, [&] { expr(n.yes); });
          under(n.condition, false, [&] { expr(n.no); });
        },
        [&](const And& n) {
          expr(n.a);
          under(n.a, true, [&] { expr(n.b); });
        },
        [&](const Or& n) {
          expr(n.a);
          under(n.a, false, [&] { expr(n.b); });
        },
        [&](const Load& n) {
          for (const Expr& i : n.indices) expr(i);
          access(n.buffer, n.indices, e);
        },
        [&](Otherwise) { for_each_child(e, [&](const Expr& child) { expr(child); }); });
  }

  template <class F>
  void under(const Expr& condition, bool holds, F&& f) {
    const Prover::Scope scope(prover_);
    prover_.assume(condition, holds);
    f();
  }

  void loop(const For& n) {
    expr(n.min);
    expr(n.extent);
    const Prover::Scope scope(prover_);
    const bool outer = in_launch_;
    in_launch_ |= is_launch(n.loop);
    prover_.add_loop(n.var, n.min, n.extent);
    ranges_.set_loop(n.var, n.min, n.extent);
    stmt(n.body);
    in_launch_ = outer;
  }

  void view(const View& n) {
    const auto bytes = [&](const Buffer& b) {
      Polynomial count = b->dtype.size_bytes();
      for (const Expr& extent : b->shape) count = count * prover_.form(extent);
      return count;
    };
    const Polynomial end =
        bytes(n.buffer) + Polynomial(std::max<std::int64_t>(n.buffer->offset_bytes, 0));
    if (!prover_.is_at_most(end, bytes(n.source))) {
      report(fmt::format("view `{}` is not proven to be as large as `{}`", n.buffer->name,
                         n.source->name));
    }
  }

  void constant(const AllocateConst& n) {
    const Tensor* data = std::get_if<Tensor>(&n.data);
    if (data == nullptr && data_.resolve) data = data_.resolve(n.data);
    if (data != nullptr) constants_[n.buffer.get()] = data;
  }

  void stmt(const Stmt& s) {
    const Prover::Scope scope(prover_);
    BlockWalk rest(s);
    while (const Stmt* next = rest.next()) statement(*next);
  }

  // All but what is in the scope of a definition, which follows.
  void statement(const Stmt& s) {
    visit(
        s,
        [&](const Store& n) {
          // Memory stays as it is until all of it is evaluated.
          const Prover::Scope scope(prover_);
          in_store_ = true;
          expr(n.value);
          for (const Expr& i : n.indices) expr(i);
          access(n.buffer, n.indices, s);
          in_store_ = false;
        },
        [&](const For& n) { loop(n); },
        [&](const While& n) {
          expr(n.condition);
          under(n.condition, true, [&] { stmt(n.body); });
        },
        [&](const IfThenElse& n) {
          expr(n.condition);
          under(n.condition, true, [&] { stmt(n.then_case); });
          if (n.else_case) under(n.condition, false, [&] { stmt(n.else_case); });
        },
        [&](const LetStmt& n) {
          expr(n.value);
          if (n.var.dtype().is_int() || n.var.dtype().is_bool()) prover_.bind(n.var, n.value);
          if (n.var.dtype() == kInt64) {
            ranges_.set(n.var, range_of(index_form(n.value, ranges_), ranges_));
          }
        },
        [&](const AllocateConst& n) { constant(n); }, [&](const View& n) { view(n); },
        [&](const Require& n) {
          expr(n.condition);
          for (const Expr& value : n.values) expr(value);
          if (!in_launch_) prover_.assume(n.condition);
        },
        [&](const Evaluate& n) { expr(n.value); },
        // A buffer's extents are read where it is accessed, a walk takes sequences apart, and the
        // rest is of host programs.
        [](const Allocate&) {}, [](const Seq&) {}, [](const CallKernel&) {}, [](const Reserve&) {});
  }

  Prover& prover_;
  const KnownData& data_;
  Bounds ranges_;  // of loops and of what is defined
  std::vector<std::string> found_;
  std::set<const BufferNode*> stored_, viewed_;
  std::map<const BufferNode*, const Tensor*> constants_;
  bool in_launch_ = false, in_store_ = false;
};

}  // namespace

std::vector<std::string> unproven_accesses(const PrimFunc& kernel, Prover& prover,
                                           const KnownData& data) {
  return BoundsVerifier(prover, data).kernel(kernel);
}

std::vector<std::string> unproven_accesses(const PrimFunc& kernel) {
  Prover prover;
  for (const Expr& dim : kernel.dims) prover.add_size(dim);
  return unproven_accesses(kernel, prover, {});
}

}  // namespace tessera::tir
