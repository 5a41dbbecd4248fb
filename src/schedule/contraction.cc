// SPDX-License-Identifier: Apache-2.0
#include "schedule/contraction.h"

#include <algorithm>
#include <cmath>

#include "schedule/primitives.h"
#include "schedule/product_roles.h"
#include "tir/compare.h"
#include "tir/walk.h"

namespace tessera::schedule {
namespace {

using tir::Expr;
using tir::Stmt;

constexpr double kMinMultiplications = 1 << 13;
constexpr std::int64_t kMinTermsOfUnit = 16;

bool touches(const Stmt& s, const tir::Buffer& b) {
  const std::vector<Access> all = accesses(s);
  return std::any_of(all.begin(), all.end(), [&](const Access& a) { return a.buffer == b; });
}

bool writes_any_that(const Stmt& first, const Stmt& second_reads, const tir::Buffer& except) {
  const std::vector<Access> all = accesses(first);
  return std::any_of(all.begin(), all.end(), [&](const Access& a) {
    return a.is_store && a.buffer != except && touches(second_reads, a.buffer);
  });
}

}  // namespace

std::optional<Stmt> as_epilogue(const Nest& nest, const Reduction& r, const Stmt& next) {
  const Nest other = peel(next, nest.loops.size());
  if (other.loops.size() != nest.loops.size() || has_loop(other.body)) return std::nullopt;
  tir::VarMap replaced;
  for (std::size_t i = 0; i < nest.loops.size(); ++i) {
    if (!tir::equal(nest.loops[i].extent, other.loops[i].extent)) return std::nullopt;
    replaced[other.loops[i].var.get()] = nest.loops[i].var;
  }
  const Stmt body = tir::substitute(other.body, replaced);
  bool reads = false;
  for (const Access& a : accesses(body)) {
    if (a.buffer != r.target) continue;
    if (a.is_store) return std::nullopt;
    for (std::size_t d = 0; d < a.indices.size(); ++d) {
      if (!tir::equal(a.indices[d], r.indices[d])) return std::nullopt;
    }
    reads = true;
  }
  return reads ? std::optional(body) : std::nullopt;
}

const tir::Load* load_of(const Expr& operand) {
  const auto* cast = operand.as<tir::Cast>();
  if (cast == nullptr) return operand.as<tir::Load>();
  const auto* load = cast->value.as<tir::Load>();
  if (load == nullptr) return nullptr;
  const bool widens =
      (cast->dtype == kFloat32 && load->dtype.is_float() && load->dtype.bits == 16) ||
      (cast->dtype == kInt32 && load->dtype.is_int() && load->dtype.bits <= 16);
  return widens ? load : nullptr;
}

bool moves_with(const Expr& operand, const Loop& l) { return tir::uses_var(operand, l.var); }

bool is_sum_of_products(const Reduction& r) {
  const DType t = r.target->dtype;
  return (t == kFloat32 || t == kFloat64 || t == kInt32) && r.step.as<tir::Add>() != nullptr &&
         r.update.as<tir::Store>() != nullptr && r.value.as<tir::Mul>() != nullptr;
}

namespace {

// The reduction and what follows it for each element, in common loops joined where memory is
// contiguous.
struct Combined {
  std::vector<Loop> loops;
  Reduction reduction;
  std::vector<Stmt> epilogue;
};
std::optional<Combined> combine(Nest nest, const std::vector<Stmt>& epilogue) {
  std::vector<Stmt> body = parts(nest.body);
  body.insert(body.end(), epilogue.begin(), epilogue.end());
  nest.body = tir::seq(body);
  for (std::size_t at = nest.loops.size(); at-- > 1;) {
    if (auto joined = collapse(nest, at - 1)) nest = std::move(*joined);
  }
  body = parts(nest.body);
  auto r = as_reduction(tir::seq({body[0], body[1]}));
  if (!r) return std::nullopt;
  return Combined{nest.loops, std::move(*r), {body.begin() + 2, body.end()}};
}

// Are the sums of known sizes, and is it worth tiles?
bool is_large(const std::vector<Loop>& spatial, const std::vector<Loop>& reduction) {
  for (const Loop& l : reduction) {
    if (l.size() < 1) return false;
  }
  for (const Loop& l : spatial) {
    if (l.size() == 0) return false;
  }
  return likely_count(spatial) * likely_count(reduction) >= kMinMultiplications;
}

// Does `a` have the terms of the sum side by side? A sum of one term has no loop.
bool has_terms_side_by_side(const Product& p, const tir::Bounds& bounds) {
  if (p.reduction.empty()) return false;
  const tir::Load* a = load_of(p.a);
  const Loop& k = p.reduction.back();
  const tir::IndexForm place = offset_form(a->buffer, a->indices, bounds);
  return !place.hides(k.var) && place.coefficient(k.var) == 1;
}

// Where both operands are of a type that the CPU multiplies by neighbours, and `a` has them side by
// side: so many. Then b is packed so that they lie side by side for each column.
void set_neighbours(Product& p, const tir::Bounds& bounds, const Machine& machine) {
  const tir::Load *a = load_of(p.a), *b = load_of(p.b);
  if (a == nullptr || b == nullptr || !has_terms_side_by_side(p, bounds)) return;
  const bool is_line = p.m.size() == 1;
  if (is_line && !p.is_constant) return;  // a copy takes longer than the product
  const std::int64_t terms = p.reduction.back().size();
  const bool are_bytes = a->dtype.is_byte() && b->dtype.is_byte();
  if (!is_line && machine.has_matrix_unit &&
      (are_bytes || (a->dtype == kBFloat16 && b->dtype == kBFloat16))) {
    const bool is_in_rows = !offset_form(a->buffer, a->indices, bounds).hides(p.m.var);
    p.by_unit = is_in_rows && terms >= kMinTermsOfUnit;
    if (p.by_unit) p.neighbours = 4 / a->dtype.size_bytes();
    if (p.by_unit) return;
  }
  if (a->dtype != b->dtype) return;
  p.neighbours = neighbours_at_once(a->dtype, terms, machine);
}

// The last spatial loop is the line of a vector times a matrix, and nobody's unless it is m.
void give_roles(Product& p, const RoleChoice& c, const std::vector<Loop>& spatial,
                const tir::Mul& product) {
  p.a = c.swapped ? product.b : product.a;
  p.b = c.swapped ? product.a : product.b;
  p.m = spatial[c.m];
  p.n = spatial[c.n];
  p.packed = c.packed;
  p.is_constant = c.constant;
  for (std::size_t i = 0; i < spatial.size(); ++i) {
    if (i == c.m || i == c.n || i == spatial.size() - 1) continue;
    (moves_with(p.b, spatial[i]) ? p.shared_batch : p.other_batch).push_back(spatial[i]);
  }
}

}  // namespace

std::optional<std::size_t> dimension_along(const tir::Load& load, const Expr& var) {
  const auto uses =
      std::ranges::count_if(load.indices, [&](const Expr& e) { return tir::uses_var(e, var); });
  const auto found =
      std::ranges::find_if(load.indices, [&](const Expr& e) { return e.same_as(var); });
  if (uses != 1 || found == load.indices.end()) return std::nullopt;
  return static_cast<std::size_t>(found - load.indices.begin());
}

std::int64_t neighbours_at_once(DType dtype, std::int64_t terms, const Machine& machine) {
  const std::int64_t count = dtype == kBFloat16 ? machine.bfloat16_neighbours
                             : dtype == kInt16  ? machine.int16_neighbours
                                                : 1;
  return terms % count == 0 ? count : 1;
}

std::vector<Stmt> take_epilogue(Product& p, const Nest& nest, const Reduction& r,
                                std::span<const Stmt> nests,
                                const std::vector<tir::Buffer>& temporaries) {
  std::vector<Stmt> epilogue;
  const bool temporary =
      std::find(temporaries.begin(), temporaries.end(), r.target) != temporaries.end();
  while (temporary && p.replaced < nests.size()) {
    const auto next = as_epilogue(nest, r, nests[p.replaced]);
    if (!next) break;
    const bool chained = std::any_of(epilogue.begin(), epilogue.end(), [&](const Stmt& before) {
      return writes_any_that(before, *next, r.target);
    });
    if (chained) break;
    epilogue.push_back(*next);
    ++p.replaced;
  }
  const auto rest = nests.subspan(p.replaced);
  p.target_is_kept = !temporary || std::any_of(rest.begin(), rest.end(),
                                               [&](const Stmt& s) { return touches(s, r.target); });
  return epilogue;
}

Stmt finished(const Product& p, const Expr& result, const tir::VarMap& at) {
  struct FromResult : tir::Mutator {
    const tir::Buffer& target;
    const Expr& result;
    FromResult(const tir::Buffer& t, const Expr& e) : target(t), result(e) {}
    using Mutator::mutate;
    Expr mutate(const Expr& e) override {
      const auto* l = e.as<tir::Load>();
      return l != nullptr && l->buffer == target ? result : Mutator::mutate(e);
    }
  };
  FromResult from(p.target, result);
  std::vector<Stmt> body;
  if (p.target_is_kept) {
    std::vector<Expr> indices;
    for (const Expr& e : p.indices) indices.push_back(tir::substitute(e, at));
    body.push_back(tir::Store::make(p.target, indices, result));
  }
  for (const Stmt& s : p.epilogue) {
    body.push_back(from.mutate(tir::substitute(tir::with_fresh_definitions(s), at)));
  }
  return tir::seq(std::move(body));
}

std::optional<Product> recognise_product(std::span<const Stmt> nests, const Surroundings& around,
                                         const Machine& machine) {
  const Nest nest = peel(nests[0]);
  const auto reduction = as_reduction(nest.body);
  if (!reduction || !is_sum_of_products(*reduction)) return std::nullopt;
  if (!is_large(nest.loops, reduction->loops)) return std::nullopt;
  Product p;
  const std::vector<Stmt> epilogue = take_epilogue(p, nest, *reduction, nests, around.temporaries);
  const auto combined = combine(nest, epilogue);
  if (!combined) return std::nullopt;
  const Reduction& r = combined->reduction;
  std::vector<Loop> spatial = combined->loops, all = spatial;
  spatial.push_back({tir::make_var("line"), Expr(1)});  // for a vector times a matrix
  all.insert(all.end(), r.loops.begin(), r.loops.end());
  const tir::Bounds bounds = bounds_of(all);
  const auto* product = r.value.as<tir::Mul>();
  if (product == nullptr) return std::nullopt;
  const RoleChoice c = best_roles(spatial, r, *product, bounds, around, machine);
  if (c.cycles == INFINITY) return std::nullopt;
  give_roles(p, c, spatial, *product);
  p.reduction = r.loops;
  set_neighbours(p, bounds, machine);
  p.packed |= p.neighbours > 1;
  p.target = r.target;
  p.indices = r.indices;
  p.identity = r.identity;
  p.epilogue = combined->epilogue;
  return p;
}

}  // namespace tessera::schedule
