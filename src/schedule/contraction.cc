// SPDX-License-Identifier: Apache-2.0
#include "schedule/contraction.h"

#include <algorithm>
#include <cmath>

#include "schedule/primitives.h"
#include "tir/compare.h"
#include "tir/walk.h"

namespace tessera::schedule {
namespace {

using tir::Expr;
using tir::Stmt;

constexpr double kMinMultiplications = 1 << 13;
constexpr std::int64_t kLikelySize = 64;  // where it is open
constexpr double kBlocksForThreads = 4;
constexpr std::int64_t kMinTermsOfUnit = 16;
constexpr std::int64_t kFarApart = 1024;  // bytes between rows of b beyond which it is packed

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

double utilisation(std::int64_t extent, std::int64_t width) {
  const std::int64_t whole = (extent + width - 1) / width * width;
  return static_cast<double>(extent) / static_cast<double>(whole);
}

std::int64_t likely_size(const Loop& l) { return l.size() < 0 ? kLikelySize : l.size(); }

double count(const std::vector<Loop>& loops) {
  double n = 1;
  for (const Loop& l : loops) n *= static_cast<double>(likely_size(l));
  return n;
}

// One way to give the roles of m and n, and what it costs in cycles.
struct Choice {
  bool swapped = false;  // the second operand is `a`
  std::size_t m = 0, n = 0;
  bool packed = false, constant = false;
  double cycles = INFINITY;
};

// Is the place a sum of multiples of the loops' variables?
bool is_linear(const tir::IndexForm& place, const tir::Bounds& bounds) {
  return std::all_of(place.terms.begin(), place.terms.end(), [&](const tir::IndexTerm& term) {
    return term.atom.as<tir::Var>() != nullptr && bounds.of(term.atom).has_max();
  });
}

class RoleChooser {
 public:
  RoleChooser(const std::vector<Loop>& spatial, const Reduction& r, const tir::Mul& product,
              const tir::Bounds& bounds, const Surroundings& around, const Machine& machine)
      : spatial_(spatial),
        r_(r),
        product_(product),
        bounds_(bounds),
        around_(around),
        lanes_(machine.lanes(r.target->dtype)) {}

  Choice best() const {
    Choice best;
    for (const bool swapped : {false, true}) {
      for (std::size_t m = 0; m < spatial_.size(); ++m) {
        for (std::size_t n = 0; n < spatial_.size(); ++n) {
          const Choice c = rate(swapped, m, n);
          if (c.cycles < best.cycles) best = c;
        }
      }
    }
    return best;
  }

 private:
  Choice rate(bool swapped, std::size_t m, std::size_t n) const {
    const Expr& a = swapped ? product_.b : product_.a;
    const Expr& b = swapped ? product_.a : product_.b;
    const Loop &lm = spatial_[m], &ln = spatial_[n];
    Choice c{swapped, m, n};
    if (m == n || likely_size(lm) < 2 || ln.size() < lanes_ / 2) return c;
    if (!moves_with(a, lm) || moves_with(b, lm) || moves_with(a, ln) || !moves_with(b, ln))
      return c;
    const tir::Load* load = load_of(b);
    if (load == nullptr) return c;
    const tir::IndexForm offset = offset_form(load->buffer, load->indices, bounds_);
    if (offset.hides(ln.var)) return c;
    const std::int64_t step = offset.coefficient(ln.var);
    std::int64_t row = 0;
    for (const Loop& k : r_.loops) row = std::max(row, std::abs(offset.coefficient(k.var)));
    double reuse = 1, columns = 1;
    bool is_open = false;  // how much of b there is
    for (const Loop& l : spatial_) {
      (moves_with(b, l) ? columns : reuse) *= static_cast<double>(likely_size(l));
      is_open |= moves_with(b, l) && l.size() < 0;
    }
    const double lines = reuse / static_cast<double>(likely_size(lm));
    const double k = count(r_.loops), lanes = static_cast<double>(lanes_);
    const bool far = row * r_.target->dtype.size_bytes() > kFarApart && reuse >= 32;
    c.packed = step != 1 || far;
    c.constant = around_.is_constant(load->buffer) && is_linear(offset, bounds_);
    // Threads share blocks of columns, and lines of rows; of open rows, which plain loops give to
    // threads, there must be enough of them.
    const bool has_few_blocks =
        columns * lines < kBlocksForThreads * 2 * static_cast<double>(lanes_) && lm.size() < 0;
    if (is_open || has_few_blocks) return c;
    const double few_rows = std::max(1.0, 4.0 / static_cast<double>(likely_size(lm)));
    c.cycles = k * reuse * columns / (2 * lanes) / utilisation(ln.size(), lanes_) * few_rows;
    if (c.packed && !c.constant) c.cycles += k * columns * (step == 1 ? 0.2 : 1.0);
    // Every block of columns reads all of a; what no cache near the core holds comes slowly.
    double a_bytes = 0;
    for (const Access& x : loads(a, bounds_)) {
      const std::int64_t elements = std::max<std::int64_t>(tir::constant_size(x.buffer), 0);
      a_bytes += static_cast<double>(elements * x.buffer->dtype.size_bytes());
    }
    const double blocks = std::ceil(static_cast<double>(ln.size()) / (2 * lanes));
    if (a_bytes > Machine::kNearCacheBytes) {
      c.cycles += (blocks - 1) * a_bytes / Machine::kFarBytesPerCycle;
    }
    // Rows near each other share cache lines; those that are an open number of elements apart are
    // not near.
    for (const Access& x : loads(a, bounds_)) {
      const bool is_far = x.offset.hides(lm.var) || std::abs(x.offset.coefficient(lm.var)) > 16;
      if (is_far) c.cycles *= 1.02;
    }
    const std::int64_t out = offset_form(r_.target, r_.indices, bounds_).coefficient(ln.var);
    c.cycles += reuse * columns * (out == 1 ? 0.1 : 1.5);
    return c;
  }

  const std::vector<Loop>& spatial_;
  const Reduction& r_;
  const tir::Mul& product_;
  const tir::Bounds& bounds_;
  const Surroundings& around_;
  std::int64_t lanes_;
};

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
  return count(spatial) * count(reduction) >= kMinMultiplications;
}

// Does `a` have the terms of the sum side by side?
bool has_terms_side_by_side(const Product& p, const tir::Bounds& bounds) {
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
  const std::int64_t terms = p.reduction.back().size();
  const bool are_bytes = a->dtype.is_byte() && b->dtype.is_byte();
  if (machine.has_matrix_unit && (are_bytes || (a->dtype == kBFloat16 && b->dtype == kBFloat16))) {
    const bool is_in_rows = !offset_form(a->buffer, a->indices, bounds).hides(p.m.var);
    p.by_unit = is_in_rows && terms >= kMinTermsOfUnit;
    if (p.by_unit) p.neighbours = 4 / a->dtype.size_bytes();
    if (p.by_unit) return;
  }
  if (a->dtype != b->dtype) return;
  p.neighbours = neighbours_at_once(a->dtype, terms, machine);
}

void give_roles(Product& p, const Choice& c, const std::vector<Loop>& spatial,
                const tir::Mul& product) {
  p.a = c.swapped ? product.b : product.a;
  p.b = c.swapped ? product.a : product.b;
  p.m = spatial[c.m];
  p.n = spatial[c.n];
  p.packed = c.packed;
  p.is_constant = c.constant;
  for (std::size_t i = 0; i < spatial.size(); ++i) {
    if (i == c.m || i == c.n) continue;
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
  std::vector<Loop> all = combined->loops;
  all.insert(all.end(), r.loops.begin(), r.loops.end());
  const tir::Bounds bounds = bounds_of(all);
  const auto* product = r.value.as<tir::Mul>();
  if (product == nullptr) return std::nullopt;
  const Choice c = RoleChooser(combined->loops, r, *product, bounds, around, machine).best();
  if (c.cycles == INFINITY) return std::nullopt;
  give_roles(p, c, combined->loops, *product);
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
