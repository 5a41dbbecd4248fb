// SPDX-License-Identifier: Apache-2.0
// Convolutions of 3 by 3 by Winograd's algorithm, for whole images at once:
//
//   V[e, in, p] = Bt d B       of every channel's tiles p: rows first, which lie along memory
//   M[e, out, p] = sum over in of U[e, out, in] * V[e, in, p]      window * window products
//   Y = At M A                 tile by tile, then what follows the convolution
//
// U is a constant, made when compiling. It has blocks of results side by side, so that a tile of a
// product reads it from front to back.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "schedule/contraction.h"
#include "schedule/winograd_choice.h"
#include "schedule/winograd_convolution.h"
#include "schedule/winograd_transform.h"
#include "schedule/winograd_values.h"
#include "tir/walk.h"

namespace tessera::schedule {
namespace {

using tir::Buffer;
using tir::Expr;
using tir::ForKind;
using tir::Stmt;

constexpr std::int64_t kBlock = 16;  // of results

// ---- Is it worth it?

constexpr double kClearly = 1.3;                // times faster by estimate
constexpr double kTransformCycles = 0.75;       // of an element of V or M
constexpr double kMostScratchBytes = 64 << 20;  // of V and M

double far_cycles(double bytes) {
  return bytes > Machine::kNearCacheBytes ? bytes / Machine::kFarBytesPerCycle : 0;
}

struct Sizes {
  double images = 1, rows = 0, columns = 0, in = 0, out = 0, lanes = 1;
  double tiles(double m) const { return images * std::ceil(rows / m) * std::ceil(columns / m); }
  double direct_cycles() const {
    return images * rows * columns * 9 * in * out / (2 * lanes) + far_cycles(36 * in * out);
  }
  double moved(double m) const { return (m + 2) * (m + 2) * (in + out) * tiles(m); }
  double scratch_bytes(double m) const { return 4 * moved(m); }
  double winograd_cycles(double m) const {
    const double elements = (m + 2) * (m + 2);
    const double products = elements * in * out * std::ceil(tiles(m) / lanes) / 2;
    return products + kTransformCycles * moved(m) + far_cycles(4 * elements * in * out) +
           far_cycles(2 * scratch_bytes(m));
  }
};

// Columns that tiles read, some of them outside of the image.
std::int64_t padded_columns(const WinogradConvolution& c, std::int64_t tile) {
  return (c.column.size() + tile - 1) / tile * tile + 2;
}

// Those of 2 and 4 that are exact enough, and whose rows fit on a thread's stack.
std::vector<std::int64_t> possible_tiles(const WinogradConvolution& c, const Machine& machine) {
  std::vector<std::int64_t> tiles = {2, 4};
  std::erase_if(tiles, [&](std::int64_t m) {
    return c.in.size() > most_winograd_channels(m) ||
           4 * (m + 2) * padded_columns(c, m) > machine.stack_bytes;
  });
  return tiles;
}

// The tile to use; 0: none.
std::int64_t chosen_tile(const WinogradConvolution& c, const Machine& machine) {
  std::vector<std::int64_t> tiles = possible_tiles(c, machine);
  if (const auto told = told_winograd_tile(machine.winograd_tile, tiles)) return *told;
  const auto size = [](const Loop& l) { return static_cast<double>(l.size()); };
  Sizes s{1,          size(c.row), size(c.column),
          size(c.in), size(c.out), static_cast<double>(machine.lanes(kFloat32))};
  for (const Loop& l : c.batch) s.images *= size(l);
  std::erase_if(tiles, [&](std::int64_t m) {
    return s.scratch_bytes(static_cast<double>(m)) > kMostScratchBytes;
  });
  std::int64_t best = 0;
  double cycles = s.direct_cycles() / kClearly;
  for (const std::int64_t m : tiles) {
    const double estimate = s.winograd_cycles(static_cast<double>(m));
    if (estimate >= cycles) continue;
    best = m;
    cycles = estimate;
  }
  return measured_winograd_tile(c, best, tiles, machine.measured);
}

// ---- Loops

class WinogradBuilder {
 public:
  WinogradBuilder(const WinogradConvolution& c, std::int64_t tile)
      : c_(c),
        t_(winograd_transform(tile)),
        block_(c.out.size() % kBlock == 0 ? kBlock : c.out.size()),
        tile_rows_((c.row.size() + tile - 1) / tile),
        tile_columns_((c.column.size() + tile - 1) / tile) {
    std::int64_t tiles = tile_rows_ * tile_columns_;
    for (const Loop& l : c.batch) tiles *= l.size();
    const std::int64_t number = t_.window * t_.window, in = c.in.size(), out = c.out.size();
    v_ = tir::make_buffer("tiles", kFloat32, {Expr(number), Expr(in), Expr(tiles)});
    u_ = tir::make_buffer("weights", kFloat32,
                          {Expr(number), Expr(out / block_), Expr(in), Expr(block_)},
                          tir::MemoryScope::kConstant);
    m_ = tir::make_buffer("products", kFloat32, {Expr(number), Expr(out), Expr(tiles)});
  }

  std::optional<Contraction> run(const Machine& machine) const {
    const std::vector<Stmt> product{tir::with_fresh_definitions(products())};
    auto out = schedule_contraction(product, {{}, {}}, machine);
    if (!out) return std::nullopt;
    out->nests.insert(out->nests.begin(), tir::with_fresh_definitions(transform_data()));
    out->nests.push_back(tir::with_fresh_definitions(transform_results()));
    out->temporaries.insert(out->temporaries.end(), {v_, m_});
    const auto make = [places = c_.places, &t = t_, block = block_](const Tensor& weight) {
      return winograd_weight(weight, places, t, block);
    };
    out->made.push_back({c_.weight, u_, make});
    out->replaced = c_.product.replaced;
    out->summary = fmt::format("winograd {}x{}, {}", t_.tile, t_.tile, out->summary);
    return out;
  }

 private:
  std::int64_t padded_columns() const { return schedule::padded_columns(c_, t_.tile); }

  static Loop loop(const char* name, std::int64_t size, ForKind kind = ForKind::kSerial) {
    return {tir::make_var(name), Expr(size), kind};
  }
  static Stmt store(const Buffer& b, std::vector<Expr> indices, const Expr& value) {
    return tir::Store::make(b, std::move(indices), value);
  }
  static Buffer on_stack(const char* name, std::vector<Expr> shape) {
    return tir::make_buffer(name, kFloat32, std::move(shape), tir::MemoryScope::kStack);
  }

  // The number of a tile among all.
  Expr tile(const Expr& tile_row, const Expr& tile_column) const {
    Expr image(0);
    for (const Loop& l : c_.batch) image = image * l.extent + l.var;
    return (image * Expr(tile_rows_) + tile_row) * Expr(tile_columns_) + tile_column;
  }

  std::vector<Loop> around(const Loop& channel, const Loop& tile_row) const {
    std::vector<Loop> loops = c_.batch;
    loops.push_back(channel);
    loops.push_back(tile_row);
    return loops;
  }

  Stmt transform_data() const {
    const Loop row = loop("tile_row", tile_rows_);
    const Buffer half = on_stack("half", {Expr(t_.window), Expr(padded_columns())});
    std::vector<Stmt> body = transformed_rows(half, row.var);
    for (std::int64_t i = 0; i < t_.window; ++i) {
      body.push_back(transformed_columns(half, i, row.var));
    }
    return wrap(around(c_.in, row), tir::Allocate::make(half, tir::seq(std::move(body))));
  }

  // half = Bt d, for all columns of a row of tiles. Rows below the image are its last one again:
  // only results that nobody keeps are made of them.
  std::vector<Stmt> transformed_rows(const Buffer& half, const Expr& tile_row) const {
    const std::int64_t last = c_.row.size() + 1, inside = c_.column.size() + 2;
    const Loop column = loop("column", inside, ForKind::kVectorized);
    NamedValues rows, named;
    std::vector<Expr> d;
    for (std::int64_t i = 0; i < t_.window; ++i) {
      const Expr y = tile_row * Expr(t_.tile) + Expr(i);
      const bool is_inside = t_.tile * (tile_rows_ - 1) + i <= last;
      const Expr at = is_inside ? y : rows("row", i, tir::min(y, Expr(last)));
      d.push_back(named("d", i, c_.element(at, column.var)));
    }
    std::vector<Stmt> stores;
    for (std::int64_t i = 0; i < t_.window; ++i) {
      stores.push_back(store(half, {Expr(i), column.var}, combination(t_.data_row(i), d)));
    }
    std::vector<Stmt> body{rows.around({wrap({column}, named.around(std::move(stores)))})};
    if (padded_columns() > inside) {
      const Loop rest = loop("rest", padded_columns() - inside), each = loop("i", t_.window);
      body.push_back(
          wrap({each, rest}, store(half, {each.var, Expr(inside) + rest.var}, tir::float_imm(0))));
    }
    return body;
  }

  // V of row i of the window: half B.
  Stmt transformed_columns(const Buffer& half, std::int64_t i, const Expr& tile_row) const {
    const Loop column = loop("tile_column", tile_columns_, ForKind::kVectorized);
    NamedValues named;
    std::vector<Expr> d;
    for (std::int64_t j = 0; j < t_.window; ++j) {
      const Expr x = column.var * Expr(t_.tile) + Expr(j);
      d.push_back(named("d", j, tir::load(half, {Expr(i), x})));
    }
    std::vector<Stmt> stores;
    for (std::int64_t j = 0; j < t_.window; ++j) {
      stores.push_back(store(v_, {Expr(i * t_.window + j), c_.in.var, tile(tile_row, column.var)},
                             combination(t_.data_row(j), d)));
    }
    return wrap({column}, named.around(std::move(stores)));
  }

  Stmt products() const {
    const Loop e = loop("element", t_.window * t_.window), p = loop("tile", v_size());
    const Loop block = loop("block", c_.out.size() / block_), out = loop("out", block_);
    const std::vector<Expr> at{e.var, block.var * Expr(block_) + out.var, p.var};
    const Expr term = tir::load(u_, {e.var, block.var, c_.in.var, out.var}) *
                      tir::load(v_, {e.var, c_.in.var, p.var});
    const Stmt add = wrap({c_.in}, store(m_, at, tir::load(m_, at) + term));
    return wrap({e, block, out, p}, tir::seq({store(m_, at, tir::float_imm(0)), add}));
  }
  std::int64_t v_size() const { return *tir::as_int(v_->shape[2]); }

  Stmt transform_results() const {
    const Loop row = loop("tile_row", tile_rows_);
    const Buffer half = on_stack("half", {Expr(t_.tile), Expr(t_.window), Expr(tile_columns_)});
    const Buffer result = on_stack("result", {Expr(t_.tile), Expr(t_.tile * tile_columns_)});
    std::vector<Stmt> body;
    for (std::int64_t j = 0; j < t_.window; ++j) body.push_back(half_results(half, j, row.var));
    for (std::int64_t r = 0; r < t_.tile; ++r) body.push_back(results_of_row(half, result, r));
    body.push_back(finished_rows(result, row.var));
    const Stmt with_result = tir::Allocate::make(result, tir::seq(std::move(body)));
    return wrap(around(c_.out, row), tir::Allocate::make(half, with_result));
  }

  // half = At M, of column j of the window.
  Stmt half_results(const Buffer& half, std::int64_t j, const Expr& tile_row) const {
    const Loop column = loop("tile_column", tile_columns_, ForKind::kVectorized);
    NamedValues named;
    std::vector<Expr> m;
    for (std::int64_t i = 0; i < t_.window; ++i) {
      m.push_back(
          named("m", i,
                tir::load(m_, {Expr(i * t_.window + j), c_.out.var, tile(tile_row, column.var)})));
    }
    std::vector<Stmt> stores;
    for (std::int64_t r = 0; r < t_.tile; ++r) {
      stores.push_back(
          store(half, {Expr(r), Expr(j), column.var}, combination(t_.result_row(r), m)));
    }
    return wrap({column}, named.around(std::move(stores)));
  }

  // Row r of a row of tiles: half A.
  Stmt results_of_row(const Buffer& half, const Buffer& result, std::int64_t r) const {
    const Loop column = loop("tile_column", tile_columns_, ForKind::kVectorized);
    NamedValues named;
    std::vector<Expr> m;
    for (std::int64_t j = 0; j < t_.window; ++j) {
      m.push_back(named("m", j, tir::load(half, {Expr(r), Expr(j), column.var})));
    }
    std::vector<Stmt> stores;
    for (std::int64_t s = 0; s < t_.tile; ++s) {
      stores.push_back(store(result, {Expr(r), column.var * Expr(t_.tile) + Expr(s)},
                             combination(t_.result_row(s), m)));
    }
    return wrap({column}, named.around(std::move(stores)));
  }

  // What follows the convolution, of those results that there are.
  Stmt finished_rows(const Buffer& result, const Expr& tile_row) const {
    const Loop r = loop("r", t_.tile),
               column = loop("column", c_.column.size(), ForKind::kVectorized);
    const Expr y = tile_row * Expr(t_.tile) + r.var;
    const Stmt last = finished(c_.product, tir::load(result, {r.var, column.var}),
                               {{c_.row.var.get(), y}, {c_.column.var.get(), column.var}});
    Stmt body = wrap({column}, last);
    if (c_.row.size() % t_.tile != 0) {
      body = tir::IfThenElse::make(tir::lt(y, Expr(c_.row.size())), body, Stmt());
    }
    return wrap({r}, body);
  }

  const WinogradConvolution& c_;
  const WinogradTransform& t_;
  const std::int64_t block_, tile_rows_, tile_columns_;
  Buffer v_, u_, m_;
};

}  // namespace

std::optional<Contraction> schedule_winograd(std::span<const Stmt> nests,
                                             const Surroundings& around, const Machine& machine) {
  if (machine.winograd_tile == 0) return std::nullopt;
  const auto convolution = recognise_winograd(nests, around);
  if (!convolution || convolution->data.dtype() != kFloat32) return std::nullopt;
  const std::int64_t tile = chosen_tile(*convolution, machine);
  if (tile == 0) return std::nullopt;
  return WinogradBuilder(*convolution, tile).run(machine);
}

}  // namespace tessera::schedule
