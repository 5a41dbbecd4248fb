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
constexpr double kNearCacheBytes = 1 << 20;
constexpr double kFarBytesPerCycle = 8;
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
    if (nest.loops[i].size() < 0 || nest.loops[i].size() != other.loops[i].size())
      return std::nullopt;
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

namespace {

// Does the operand change when the loop moves?
bool moves_with(const Expr& operand, const Loop& l) { return tir::uses_var(operand, l.var); }

double utilisation(std::int64_t extent, std::int64_t width) {
  return static_cast<double>(extent) / static_cast<double>((extent + width - 1) / width * width);
}

double count(const std::vector<Loop>& loops) {
  double n = 1;
  for (const Loop& l : loops) n *= static_cast<double>(l.size());
  return n;
}

// One way to give the roles of m and n, and what it costs in cycles.
struct Choice {
  bool swapped = false;  // the second operand is `a`
  std::size_t m = 0, n = 0;
  bool packed = false;
  double cycles = INFINITY;
};

class RoleChooser {
 public:
  RoleChooser(const std::vector<Loop>& spatial, const Reduction& r, const tir::Mul& product,
              const tir::Bounds& bounds, const Machine& machine)
      : spatial_(spatial),
        r_(r),
        product_(product),
        bounds_(bounds),
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
    Choice c{swapped, m, n, false, INFINITY};
    if (m == n || lm.size() < 2 || ln.size() < lanes_ / 2) return c;
    if (!moves_with(a, lm) || moves_with(b, lm) || moves_with(a, ln) || !moves_with(b, ln))
      return c;
    const auto* load = b.as<tir::Load>();
    if (load == nullptr) return c;
    const tir::IndexForm offset = offset_form(load->buffer, load->indices, bounds_);
    if (offset.hides(ln.var)) return c;
    const std::int64_t step = offset.coefficient(ln.var);
    std::int64_t row = 0;
    for (const Loop& k : r_.loops) row = std::max(row, std::abs(offset.coefficient(k.var)));
    double reuse = 1, columns = 1;
    for (const Loop& l : spatial_) {
      (moves_with(b, l) ? columns : reuse) *= static_cast<double>(l.size());
    }
    const double k = count(r_.loops), lanes = static_cast<double>(lanes_);
    const bool far = row * r_.target->dtype.size_bytes() > kFarApart && reuse >= 32;
    c.packed = step != 1 || far;
    const double few_rows = std::max(1.0, 4.0 / static_cast<double>(lm.size()));
    c.cycles = k * reuse * columns / (2 * lanes) / utilisation(ln.size(), lanes_) * few_rows;
    if (c.packed) c.cycles += k * columns * (step == 1 ? 0.2 : 1.0);
    // Every block of columns reads all of a; what no cache near the core holds comes slowly.
    double a_bytes = 0;
    for (const Access& x : loads(a, bounds_)) {
      a_bytes += static_cast<double>(tir::constant_size(x.buffer) * x.buffer->dtype.size_bytes());
    }
    const double blocks = std::ceil(static_cast<double>(ln.size()) / (2 * lanes));
    if (a_bytes > kNearCacheBytes) c.cycles += (blocks - 1) * a_bytes / kFarBytesPerCycle;
    // Rows near each other share cache lines.
    for (const Access& x : loads(a, bounds_)) {
      if (std::abs(x.offset.coefficient(lm.var)) > 16) c.cycles *= 1.02;
    }
    const std::int64_t out = offset_form(r_.target, r_.indices, bounds_).coefficient(ln.var);
    c.cycles += reuse * columns * (out == 1 ? 0.1 : 1.5);
    return c;
  }

  const std::vector<Loop>& spatial_;
  const Reduction& r_;
  const tir::Mul& product_;
  const tir::Bounds& bounds_;
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

bool is_sum_of_products(const Reduction& r) {
  const DType t = r.target->dtype;
  return (t == kFloat32 || t == kFloat64) && r.step.as<tir::Add>() != nullptr &&
         r.update.as<tir::Store>() != nullptr && r.value.as<tir::Mul>() != nullptr;
}

// Are all extents known, and is it worth tiles?
bool is_large(const std::vector<Loop>& spatial, const std::vector<Loop>& reduction) {
  for (const auto* loops : {&spatial, &reduction}) {
    for (const Loop& l : *loops) {
      if (l.size() < 1) return false;
    }
  }
  return count(spatial) * count(reduction) >= kMinMultiplications;
}

// The element-wise nests after the reduction that can run on its accumulators; sets what the
// product replaces.
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

void give_roles(Product& p, const Choice& c, const std::vector<Loop>& spatial,
                const tir::Mul& product) {
  p.a = c.swapped ? product.b : product.a;
  p.b = c.swapped ? product.a : product.b;
  p.m = spatial[c.m];
  p.n = spatial[c.n];
  p.packed = c.packed;
  for (std::size_t i = 0; i < spatial.size(); ++i) {
    if (i == c.m || i == c.n) continue;
    (moves_with(p.b, spatial[i]) ? p.shared_batch : p.other_batch).push_back(spatial[i]);
  }
}

}  // namespace

std::optional<Product> recognise_product(std::span<const Stmt> nests,
                                         const std::vector<tir::Buffer>& temporaries,
                                         const Machine& machine) {
  const Nest nest = peel(nests[0]);
  const auto reduction = as_reduction(nest.body);
  if (!reduction || !is_sum_of_products(*reduction)) return std::nullopt;
  if (!is_large(nest.loops, reduction->loops)) return std::nullopt;
  Product p;
  const std::vector<Stmt> epilogue = take_epilogue(p, nest, *reduction, nests, temporaries);
  const auto combined = combine(nest, epilogue);
  if (!combined) return std::nullopt;
  const Reduction& r = combined->reduction;
  std::vector<Loop> all = combined->loops;
  all.insert(all.end(), r.loops.begin(), r.loops.end());
  const tir::Bounds bounds = bounds_of(all);
  const auto* product = r.value.as<tir::Mul>();
  if (product == nullptr) return std::nullopt;
  const Choice c = RoleChooser(combined->loops, r, *product, bounds, machine).best();
  if (c.cycles == INFINITY) return std::nullopt;
  give_roles(p, c, combined->loops, *product);
  p.reduction = r.loops;
  p.target = r.target;
  p.indices = r.indices;
  p.identity = r.identity;
  p.epilogue = combined->epilogue;
  return p;
}

}  // namespace tessera::schedule
