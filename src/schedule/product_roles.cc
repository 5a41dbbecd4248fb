// SPDX-License-Identifier: Apache-2.0
#include "schedule/product_roles.h"

#include <algorithm>
#include <cmath>

#include "schedule/primitives.h"

namespace tessera::schedule {
namespace {

using tir::Expr;

constexpr std::int64_t kLikelySize = 64;  // where it is open
constexpr double kBlocksForThreads = 4;
constexpr std::int64_t kFarApart = 1024;  // bytes between rows of b beyond which it is packed
constexpr double kManyTerms = 256;        // so many rows are more than a core keeps track of

// The share of vectors' lanes that columns fill. What fills no vector at all is half of one, and
// the rest one by one.
double utilisation(std::int64_t extent, std::int64_t width) {
  const std::int64_t half = std::max<std::int64_t>(1, width / 2);
  const std::int64_t steps =
      extent < width ? extent / half + extent % half : (extent + width - 1) / width;
  return static_cast<double>(extent) / static_cast<double>(steps * width);
}

std::int64_t likely_size(const Loop& l) { return l.size() < 0 ? kLikelySize : l.size(); }

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

  RoleChoice best() const {
    RoleChoice best;
    for (const bool swapped : {false, true}) {
      for (std::size_t m = 0; m < spatial_.size(); ++m) {
        for (std::size_t n = 0; n < spatial_.size(); ++n) {
          const RoleChoice c = rate(swapped, m, n);
          if (c.cycles < best.cycles) best = c;
        }
      }
    }
    return best;
  }

 private:
  struct Roles {
    const Expr &a, &b;
    const Loop &m, &n;
    bool is_line() const { return m.size() == 1; }
  };
  struct Extents {
    double terms = 1, columns = 1, reuse = 1;  // of the sum, of b, and of each number of b
    bool is_open = false;                      // how much of b there is
  };

  RoleChoice rate(bool swapped, std::size_t m, std::size_t n) const {
    RoleChoice c{swapped, m, n};
    const Roles roles{swapped ? product_.b : product_.a, swapped ? product_.a : product_.b,
                      spatial_[m], spatial_[n]};
    if (m == n || !suit(roles)) return c;
    const tir::Load* load = load_of(roles.b);
    if (load == nullptr) return c;
    const tir::IndexForm offset = offset_form(load->buffer, load->indices, bounds_);
    if (offset.hides(roles.n.var)) return c;
    const Extents e = extents_of(roles);
    if (e.is_open || has_few_blocks(roles, e)) return c;
    const bool far = are_rows_far(offset);
    const std::int64_t step = offset.coefficient(roles.n.var);
    c.constant = around_.is_constant(load->buffer) && is_linear(offset, bounds_);
    c.packed = step != 1 || (far && (c.constant || e.reuse >= (e.terms < kManyTerms ? 32 : 12)));
    // A vector times a matrix: worth it where vectors read the matrix along memory.
    const bool is_matrix = r_.loops.size() == 1 && e.terms >= kManyTerms;
    if (roles.is_line() && !(is_matrix && (c.packed ? c.constant : far))) return c;
    c.cycles = multiplying(roles, e);
    if (c.packed && !c.constant) c.cycles += packing(step, offset, e);
    c.cycles += reading(roles);
    for (const Access& x : loads(roles.a, bounds_)) {
      // Rows near each other share cache lines; those that are an open number of elements apart are
      // not near.
      const bool is_far =
          x.offset.hides(roles.m.var) || std::abs(x.offset.coefficient(roles.m.var)) > 16;
      if (is_far) c.cycles *= 1.02;
    }
    const std::int64_t out = offset_form(r_.target, r_.indices, bounds_).coefficient(roles.n.var);
    c.cycles += e.reuse * e.columns * (out == 1 ? 0.1 : 1.5);
    return c;
  }

  bool suit(const Roles& roles) const {
    const auto& [a, b, m, n] = roles;
    return n.size() >= lanes_ / 2 && moves_with(a, m) != roles.is_line() && !moves_with(b, m) &&
           !moves_with(a, n) && moves_with(b, n);
  }

  Extents extents_of(const Roles& roles) const {
    Extents e{likely_count(r_.loops)};
    for (const Loop& l : spatial_) {
      (moves_with(roles.b, l) ? e.columns : e.reuse) *= static_cast<double>(likely_size(l));
      e.is_open |= moves_with(roles.b, l) && l.size() < 0;
    }
    return e;
  }

  // Threads share blocks of columns, and lines of rows; of open rows, which plain loops give to
  // threads, there must be enough of them.
  bool has_few_blocks(const Roles& roles, const Extents& e) const {
    const double lines = e.reuse / static_cast<double>(likely_size(roles.m));
    return roles.m.size() < 0 &&
           e.columns * lines < kBlocksForThreads * 2 * static_cast<double>(lanes_);
  }

  // Where neighbours in the sum are.
  bool are_rows_far(const tir::IndexForm& offset) const {
    std::int64_t row = 0;
    for (const Loop& k : r_.loops) row = std::max(row, std::abs(offset.coefficient(k.var)));
    return row * r_.target->dtype.size_bytes() > kFarApart;
  }

  double multiplying(const Roles& roles, const Extents& e) const {
    const double few_rows = std::max(1.0, 4.0 / static_cast<double>(likely_size(roles.m)));
    return e.terms * e.reuse * e.columns / (2 * static_cast<double>(lanes_)) /
           utilisation(roles.n.size(), lanes_) * few_rows;
  }

  // Of rows along memory, of a transposed matrix, of windows.
  double packing(std::int64_t step, const tir::IndexForm& b, const Extents& e) const {
    const bool is_transposed =
        r_.loops.size() == 1 && std::abs(b.coefficient(r_.loops.back().var)) == 1;
    return e.terms * e.columns * (step == 1 ? 0.2 : is_transposed ? 0.5 : 1.0);
  }

  // Every block of columns reads all of a; what no cache near the core holds comes slowly. It has
  // to come once.
  double reading(const Roles& roles) const {
    double bytes = 0;
    for (const Access& x : loads(roles.a, bounds_)) {
      const std::int64_t elements = std::max<std::int64_t>(tir::constant_size(x.buffer), 0);
      bytes += static_cast<double>(elements * x.buffer->dtype.size_bytes());
    }
    if (bytes <= Machine::kNearCacheBytes) return 0;
    const double width = 2 * static_cast<double>(lanes_);
    const double blocks = std::ceil(static_cast<double>(roles.n.size()) / width);
    return (blocks * lines_per_byte(roles) - 1) * bytes / Machine::kFarBytesPerCycle;
  }

  // How many times the bytes of `a` caches are filled with: where neighbours in the sum lie apart,
  // the few rows of a tile do not need all of a line, and no line is fetched ahead.
  double lines_per_byte(const Roles& roles) const {
    constexpr double kRows = 6, kLineBytes = 64, kNotAhead = 2;
    if (r_.loops.empty()) return 1;
    const Expr& k = r_.loops.back().var;
    double most = 1;
    for (const Access& x : loads(roles.a, bounds_)) {
      const auto bytes = static_cast<double>(x.buffer->dtype.size_bytes());
      const double apart = std::abs(static_cast<double>(x.offset.coefficient(k))) * bytes;
      if (x.offset.hides(k) || apart < kLineBytes) continue;
      const bool are_neighbours = std::abs(x.offset.coefficient(roles.m.var)) == 1;
      const double used = std::min(kLineBytes, bytes * (are_neighbours ? kRows : 1));
      most = std::max(most, kNotAhead * kLineBytes / used);
    }
    return most;
  }

  const std::vector<Loop>& spatial_;
  const Reduction& r_;
  const tir::Mul& product_;
  const tir::Bounds& bounds_;
  const Surroundings& around_;
  std::int64_t lanes_;
};

}  // namespace

double likely_count(const std::vector<Loop>& loops) {
  double n = 1;
  for (const Loop& l : loops) n *= static_cast<double>(likely_size(l));
  return n;
}

RoleChoice best_roles(const std::vector<Loop>& spatial, const Reduction& r, const tir::Mul& product,
                      const tir::Bounds& bounds, const Surroundings& around,
                      const Machine& machine) {
  return RoleChooser(spatial, r, product, bounds, around, machine).best();
}

}  // namespace tessera::schedule
