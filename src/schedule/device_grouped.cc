// SPDX-License-Identifier: Apache-2.0
// Convolutions in groups by tensor cores: a block makes some places of some images, of a few
// neighbouring groups, or of a part of one. Sums lie in shared memory until what follows the
// convolution is made of them, by vectors.
#include <algorithm>
#include <cmath>

#include "schedule/device.h"
#include "schedule/grouped_convolution.h"
#include "tir/device_loops.h"

namespace tessera::schedule {
namespace {

using tir::Expr;
using tir::ForKind;
using tir::Stmt;

struct GroupTile {
  std::int64_t images = 1, rows = 1, columns = 1, results = 0;
};

tir::WindowProduct product_of(const GroupedConvolution& g, const GroupTile& t) {
  tir::WindowProduct p = g.product;
  p.down = g.row.steps;
  p.across = g.column.steps;
  if (t.rows == 1) p.down.stride = 1;
  if (t.columns == 1) p.across.stride = 1;
  p.results = t.results;
  const auto sums = [&](std::int64_t row) {
    return tir::make_buffer(g.sum.reduction.target->name + "_sums", kFloat32,
                            {Expr(t.images), Expr(t.rows), Expr(t.columns), Expr(row)},
                            tir::MemoryScope::kShared);
  };
  p.sums = sums(t.results);
  p.sums = sums(p.row_of_sums());
  return p;
}

// An estimate, of a large device: the cycles that all blocks of a multiprocessor take. Fitted to an
// H200 (bench/results/2026-11-28-grouped-convolutions-gpu.md).
constexpr double kProcessors = 132;
constexpr double kBytesOfCycle = 32;  // between one multiprocessor and the second cache
constexpr double kLine = 128;         // bytes of a place, of which fewer take as long
constexpr double kRowOfImage = 5;     // cycles for each that a block reads
constexpr double kAccess = 1.2;       // cycles of a warp's access to shared memory
constexpr double kMultiply = 2.5;     // of a product of 16 by 8 by 16
constexpr double kResult = 0.2;       // of what is made of one
constexpr double kWarps = 8;

std::int64_t weight_size(const tir::WindowProduct& p, std::size_t dimension) {
  return *tir::as_int(p.weight->shape[dimension]);
}

double cost_of(const GroupedConvolution& g, const GroupTile& t, const tir::WindowProduct& p) {
  const auto n = [](std::int64_t x) { return static_cast<double>(x); };
  const auto parts = [&](const GroupedDimension& d, std::int64_t of) {
    return std::ceil(n(d.size()) / n(of));
  };
  const auto span = [&](std::int64_t places, const tir::WindowSteps& s, std::size_t d) {
    return n((places - 1) * s.stride + (weight_size(p, d) - 1) * s.dilation + 1);
  };
  const auto lines = [&](std::int64_t elements) { return std::max(kLine, 2 * n(elements)); };
  const double blocks = parts(g.image, t.images) * parts(g.row, t.rows) *
                        parts(g.column, t.columns) * (n(g.result.size()) / n(t.results));
  const double places = n(t.images * t.rows * t.columns);
  const double terms = n(weight_size(p, 0) * weight_size(p, 1) * p.channels_of_group());
  const double rows = n(t.images) * span(t.rows, p.down, 0);
  const double bytes =
      rows * span(t.columns, p.across, 1) * lines(p.groups() * p.channels_of_group()) +
      2 * terms * n(t.results) + places * lines(t.results);
  // Warps share results before they share places, and have two eights where there are.
  const double across =
      std::min(kWarps, n(t.results) / n(std::min(p.results_of_group(), 2 * kGroupedLanes)));
  const double passes = n(t.images / p.images_at_once());
  const double tiles =
      passes * std::ceil(std::ceil(places / passes / 16) / std::floor(kWarps / across));
  const double eights = n(t.results) / across / n(kGroupedLanes);
  const double of_sixteen =
      kAccess * (tiles + passes * std::ceil(eights / 2)) + kMultiply * tiles * eights;
  const double of_block = bytes / kBytesOfCycle + kRowOfImage * rows +
                          kWarps * std::ceil(terms / 16) * of_sixteen +
                          kResult * places * n(t.results);
  return std::max(1.0, blocks / kProcessors) * of_block;
}

// Sizes that cut a dimension into parts that are as even as can be, the largest first.
std::vector<std::int64_t> cuts(std::int64_t extent) {
  constexpr std::int64_t kMost = 64;
  std::vector<std::int64_t> sizes;
  for (std::int64_t most = kMost; most > 0; --most) {
    const std::int64_t parts = (extent + most - 1) / most;
    const std::int64_t each = (extent + parts - 1) / parts;
    if (sizes.empty() || each < sizes.back()) sizes.push_back(each);
  }
  return sizes;
}

std::optional<GroupTile> choose_tile(const GroupedConvolution& g) {
  constexpr std::int64_t kMostImages = 8, kMostResults = 128, kMostPasses = 4;
  const std::int64_t each = g.product.results_of_group(), all = g.result.size();
  std::vector<std::int64_t> results;
  for (std::int64_t r = each; r <= kMostResults && all % r == 0; r *= 2) results.push_back(r);
  for (std::int64_t r = each; r % 2 == 0 && r / 2 % kGroupedLanes == 0; r /= 2)
    results.push_back(r / 2);
  const std::vector<std::int64_t> of_rows = cuts(g.row.size()), of_columns = cuts(g.column.size());
  std::optional<GroupTile> best;
  double least = INFINITY;
  for (const std::int64_t of_results : results) {
    for (const std::int64_t rows : of_rows) {
      for (const std::int64_t columns : of_columns) {
        const bool is_whole = rows == g.row.size() && columns == g.column.size();
        for (std::int64_t images = 1; images <= (is_whole ? kMostImages : 1); ++images) {
          if (g.image.size() % images != 0) continue;
          const GroupTile t{images, rows, columns, of_results};
          const tir::WindowProduct p = product_of(g, t);
          if (!tir::fits(p) || tir::window_product_bytes(p) > tir::kSharedBytes ||
              images / p.images_at_once() > kMostPasses) {
            continue;
          }
          if (const double cost = cost_of(g, t, p); cost < least) {
            least = cost;
            best = t;
          }
        }
      }
    }
  }
  return best;
}

// ---- Loops

class GroupBlocks {
 public:
  GroupBlocks(const GroupedConvolution& g, const GroupTile& t)
      : g_(g), t_(t), p_(product_of(g, t)) {
    const auto part = [](const char* name, std::int64_t extent, std::int64_t of) {
      return Loop{tir::make_var(name), Expr((extent + of - 1) / of)};
    };
    // Neighbouring channels lie beside each other, and are read at the same time.
    loops_ = {part("images", g.image.size(), t.images), part("rows", g.row.size(), t.rows),
              part("columns", g.column.size(), t.columns),
              part("results", g.result.size(), t.results)};
  }

  Stmt build() {
    const Expr block = tir::make_var("block");
    const tir::VarMap here = iteration(loops_, block);
    const auto first = [&](std::size_t i, std::int64_t of) {
      return here.at(loops_[i].var.get()) * Expr(of);
    };
    p_.first_image = first(0, t_.images);
    p_.top = first(1, t_.rows) * Expr(g_.row.steps.stride) - Expr(g_.row.before);
    p_.left = first(2, t_.columns) * Expr(g_.column.steps.stride) - Expr(g_.column.before);
    p_.first_result = first(3, t_.results);
    Stmt results = finish();
    for (const Loop& l : loops_) {
      results = tir::LetStmt::make(l.var, here.at(l.var.get()), results);
    }
    const Stmt body = tir::seq({tir::window_product(p_), results});
    return tir::For::make(block, Expr(0), iterations(loops_), ForKind::kBlocks,
                          tir::Allocate::make(p_.sums, body));
  }

 private:
  // What is made of the sums, of neighbours a thread.
  Stmt finish() const {
    const Expr e = tir::make_var("e"), v = tir::make_var("v");
    const Expr vectors(t_.results / kGroupedLanes), place = tir::floor_div(e, vectors);
    const Expr image = tir::floor_div(place, Expr(t_.rows * t_.columns));
    const Expr row = tir::make_var("row"), column = tir::make_var("column");
    const Expr y = loops_[1].var * Expr(t_.rows) + row;
    const Expr x = loops_[2].var * Expr(t_.columns) + column;
    const Expr result = tir::floor_mod(e, vectors) * Expr(kGroupedLanes) + v;
    tir::VarMap at{{g_.result.var.get(), loops_[3].var * Expr(t_.results) + result}};
    const auto set = [&](const GroupedDimension& d, const Expr& value) {
      if (d.loop) at[d.loop->var.get()] = value;
    };
    set(g_.image, loops_[0].var * Expr(t_.images) + image);
    set(g_.row, y);
    set(g_.column, x);
    const Stmt all = tir::substitute(g_.sum.results(p_.sums, {image, row, column, result}), at);
    Stmt body = tir::For::make(v, Expr(0), Expr(kGroupedLanes), ForKind::kVectorized, all);
    const auto only_inside = [&](const GroupedDimension& d, const Expr& index, std::int64_t of) {
      if (d.size() % of == 0) return;
      body = tir::IfThenElse::make(tir::lt(index, Expr(d.size())), body, Stmt());
    };
    only_inside(g_.column, x, t_.columns);
    only_inside(g_.row, y, t_.rows);
    body = tir::LetStmt::make(column, tir::floor_mod(place, Expr(t_.columns)), body);
    body = tir::LetStmt::make(
        row, tir::floor_mod(tir::floor_div(place, Expr(t_.columns)), Expr(t_.rows)), body);
    return tir::For::make(e, Expr(0), Expr(t_.images * t_.rows * t_.columns) * vectors,
                          ForKind::kThreads, body);
  }

  const GroupedConvolution& g_;
  const GroupTile t_;
  tir::WindowProduct p_;
  std::vector<Loop> loops_;  // of blocks
};

}  // namespace

std::optional<Stmt> device_grouped(const Nest& nest, const Device& device) {
  if (!device.multiplies_fragments) return std::nullopt;
  const auto grouped = recognise_grouped(nest);
  if (!grouped) return std::nullopt;
  const auto tile = choose_tile(*grouped);
  return tile ? std::optional(tir::with_fresh_definitions(GroupBlocks(*grouped, *tile).build()))
              : std::nullopt;
}

}  // namespace tessera::schedule
