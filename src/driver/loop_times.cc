// SPDX-License-Identifier: Apache-2.0
#include "driver/loop_times.h"

#include <algorithm>
#include <bit>
#include <set>
#include <string_view>

#include "emit/kernel_simd.h"
#include "lower/element_cost.h"
#include "schedule/primitives.h"
#include "tir/conditions.h"
#include "tir/expr_ops.h"
#include "tir/simplify.h"
#include "tir/walk.h"

namespace tessera::driver {
namespace {

using tir::Expr;
using tir::Stmt;

constexpr std::int64_t kUnknownIterations = 16;
constexpr std::int64_t kLeastInVector = 4;

// Of a store, and of each operation (lower/element_cost.h) for it.
struct Price {
  double store_ns, operation_ns;
};
constexpr Price kInVectors{0.1, 0.02}, kOneByOne{0.5, 0.2};

// Those that kernel_math.h has without branches, and single instructions. In float64 only the
// latter.
constexpr std::string_view kInstructions[] = {"sqrt",  "rsqrt", "fabs",  "floor", "ceil",
                                              "trunc", "rint",  "isnan", "isinf", "isfinite"};
constexpr std::string_view kBranchless[] = {
    "exp", "log", "sigmoid", "tanh", "erf", "float8_e4m3_code", "float8_e5m2_code"};

template <std::size_t N>
bool is_one_of(const std::string_view (&names)[N], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

bool has_vector_form(const tir::Call& call) {
  if (call.name == "int_pow") return false;
  const DType type = call.args[0].dtype();
  if (!type.is_float() || is_one_of(kInstructions, call.name)) return true;
  return type.bits <= 32 && is_one_of(kBranchless, call.name);
}

bool divides(const Expr& e) {
  bool found = false;
  tir::for_each_node(e, [&](const Expr& part) {
    found |= part.as<tir::FloorDiv>() != nullptr || part.as<tir::FloorMod>() != nullptr;
  });
  return found;
}

// What a vectorised loop computes that is no vector instruction.
class Obstacle {
 public:
  Obstacle(const tir::For& loop, const tir::Bounds& bounds, bool converts_halves)
      : loop_(loop), converts_halves_(converts_halves) {
    moving_.insert(loop.var.get());
    for (const schedule::Access& a : schedule::accesses(loop.body, bounds)) look(a);
    tir::for_each_node(loop.body, [&](const Stmt& s) { look(s); });
  }
  std::optional<WithoutVectors> found;
  std::string what;

 private:
  bool moves(const Expr& e) const {
    bool moves = false;
    tir::for_each_node(e, [&](const Expr& part) { moves |= moving_.contains(part.get()); });
    return moves;
  }

  void find(WithoutVectors obstacle, std::string of) {
    if (found) return;
    found = obstacle;
    what = std::move(of);
  }

  // Where loops were joined, indices are divided, but addresses are not.
  void look(const schedule::Access& a) {
    if (a.buffer->dtype == kFloat16 && a.buffer->scope != tir::MemoryScope::kStack &&
        !converts_halves_) {
      find(WithoutVectors::kHalves, a.buffer->name);
    }
    if (!a.offset.hides(loop_.var)) return;
    if (std::any_of(a.indices.begin(), a.indices.end(), divides)) {
      for (const Expr& index : a.indices) look(index);
    }
  }

  // A let comes before what its variable is in scope for.
  void look(const Stmt& s) {
    if (const auto* store = s.as<tir::Store>()) return look(store->value);
    const auto* let = s.as<tir::LetStmt>();
    if (let == nullptr) return;
    if (moves(let->value)) moving_.insert(let->var.get());
    look(let->value);
  }

  void look(const Expr& e) {
    if (e.as<tir::Load>() != nullptr) return;  // an access
    if (const auto* call = e.as<tir::Call>(); call != nullptr && !has_vector_form(*call)) {
      if (moves(e)) find(WithoutVectors::kFunction, call->name);
    }
    tir::visit(
        e, [&](const tir::Div& n) { divide(n); }, [&](const tir::FloorDiv& n) { divide(n); },
        [&](const tir::FloorMod& n) { divide(n); }, [](tir::Otherwise) {});
    tir::for_each_child(e, [&](const Expr& child) { look(child); });
  }

  // By a number, narrow integers are multiplied; by a power of two, all are shifted.
  template <class N>
  void divide(const N& n) {
    if (n.dtype.is_float() || (!moves(n.a) && !moves(n.b))) return;
    const std::int64_t* by = tir::as_int(n.b);
    if (by != nullptr && *by > 0) {
      if (n.dtype.bits <= 32 || std::has_single_bit(static_cast<std::uint64_t>(*by))) return;
    }
    find(WithoutVectors::kDivision, "");
  }

  const tir::For& loop_;
  bool converts_halves_;
  std::set<const tir::ExprNode*> moving_;  // what differs from lane to lane
};

class LoopTimes {
 public:
  LoopTimes(const Stmt& body, bool converts_halves) : converts_halves_(converts_halves) {
    const bool is_checked = tir::has_condition(body);
    add(body, {1, is_checked ? WithoutVectors::kChecked : WithoutVectors::kPlain, ""});
  }
  LoopTime time;

 private:
  struct Around {
    double iterations;
    std::optional<WithoutVectors> why;  // nothing inside of vectors
    std::string what;
  };

  // The last block of a split loop is shorter, so the shorter of two counts.
  static std::optional<std::int64_t> known(const Expr& extent) {
    if (const std::int64_t* n = tir::as_int(extent)) return *n;
    const auto* least = extent.as<tir::Min>();
    if (least == nullptr) return std::nullopt;
    const auto a = known(least->a), b = known(least->b);
    return a && b ? std::min(*a, *b) : a ? a : b;
  }

  // Compilers find vectors by themselves where a check has kept the schedule from it.
  bool is_for_vectors(const tir::For& loop) const {
    if (loop.loop == tir::ForKind::kVectorized) return emit::plan_simd(loop).allowed;
    return !schedule::has_loop(loop.body) && !tir::has_condition(loop.body) &&
           schedule::check_independent(loop.var, loop.body, bounds_).has_value();
  }

  Around inside(const tir::For& loop, const Around& around) {
    const std::int64_t n = known(tir::simplify(loop.extent)).value_or(kUnknownIterations);
    Around in{around.iterations * static_cast<double>(n), around.why, around.what};
    bounds_.set_loop(loop.var, loop.min, loop.extent);
    if (!around.why || !is_for_vectors(loop)) return in;
    in.why = std::nullopt;
    if (n < kLeastInVector) {
      in.why = WithoutVectors::kShort;
      in.what = std::to_string(n);
    } else if (const Obstacle o(loop, bounds_, converts_halves_); o.found) {
      in.why = o.found;
      in.what = o.what;
    }
    return in;
  }

  void add_ns(const Expr& value, bool is_stored, const Around& around) {
    const Price& price = around.why ? kOneByOne : kInVectors;
    const double ns = around.iterations * ((is_stored ? price.store_ns : 0) +
                                           price.operation_ns * lower::element_cost(value));
    time.ns += ns;
    if (!around.why) return;
    time.scalar_ns += ns;
    if (ns <= most_ns_) return;
    most_ns_ = ns;
    time.why = *around.why;
    time.what = around.what;
  }

  void add(const Stmt& s, const Around& around) {
    if (!s) return;
    if (const auto* store = s.as<tir::Store>()) add_ns(store->value, true, around);
    const auto* let = s.as<tir::LetStmt>();  // of indices: the price of whatever is inside
    if (let != nullptr && let->var.dtype().is_float()) add_ns(let->value, false, around);
    const auto* loop = s.as<tir::For>();
    Around in = loop != nullptr ? inside(*loop, around) : around;
    if (s.as<tir::While>() != nullptr) in.iterations *= kUnknownIterations;
    tir::for_each_child(s, [&](const Stmt& child) { add(child, in); });
  }

  bool converts_halves_;
  tir::Bounds bounds_;  // of the loops around
  double most_ns_ = 0;
};

}  // namespace

LoopTime loop_time(const tir::PrimFunc& kernel, std::span<const std::int64_t> dims,
                   bool converts_halves) {
  tir::VarMap values;
  for (std::size_t i = 0; i < std::min(dims.size(), kernel.dims.size()); ++i) {
    values[kernel.dims[i].get()] = tir::int_imm(dims[i]);
  }
  return LoopTimes(tir::substitute(kernel.body, values), converts_halves).time;
}

}  // namespace tessera::driver
