// SPDX-License-Identifier: Apache-2.0
// Products with a matrix whose columns lie side by side in words of several elements: a vector of
// words is decoded in registers and multiplied for some rows of the other operand at once. Each row
// has a vector of sums, one a column.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "schedule/rules.h"
#include "tir/walk.h"

namespace tessera::schedule {
namespace {

using tir::Buffer;
using tir::Expr;
using tir::ForKind;
using tir::Stmt;

constexpr std::int64_t kRowsOfOpenSize = 4, kWidestTile = 16;
// Tiles that are read at once where there are few rows: memory is fastest where it is read at
// some places.
constexpr std::int64_t kStreams = 4;

// T[batch, row, tiles, column] = sum over the reduction of what is read of rows and of columns
struct PackedProduct {
  std::vector<Loop> batch, row;  // row: the innermost of them, if there is one
  std::vector<Loop> tiles;
  Loop column;  // along memory in all that moves with it
  Reduction reduction;
  std::int64_t lanes = 0;
};

bool moves_with(const Access& a, const Loop& l) {
  return a.offset.hides(l.var) || a.offset.coefficient(l.var) != 0;
}

// Are all reads vectors of the width of the sums, or the same for all columns, and are there words
// of integers among them?
bool runs_along_columns(const std::vector<Access>& reads, const Loop& column) {
  bool has_words = false;
  for (const Access& a : reads) {
    if (!moves_with(a, column)) continue;
    const bool is_vector = !a.offset.hides(column.var) && a.offset.coefficient(column.var) == 1 &&
                           (a.buffer->dtype.size_bytes() == 4 || a.buffer->dtype == kBFloat16);
    if (!is_vector) return false;
    has_words |= a.buffer->dtype == kInt32;
  }
  return has_words;
}

// Loops that move what moves with columns, and loops that move the rest; false where one moves
// both.
bool take_spatial(PackedProduct& p, std::vector<Loop> loops, const std::vector<Access>& reads) {
  p.column = loops.back();
  loops.pop_back();
  for (const Loop& l : loops) {
    bool of_columns = false, of_rows = false;
    for (const Access& a : reads) {
      if (moves_with(a, l)) (moves_with(a, p.column) ? of_columns : of_rows) = true;
    }
    if (of_columns == of_rows) return false;
    (of_columns ? p.tiles : p.batch).push_back(l);
  }
  if (!p.batch.empty()) {
    p.row = {p.batch.back()};
    p.batch.pop_back();
  }
  return true;
}

std::optional<PackedProduct> recognise(const Stmt& s, const Machine& machine) {
  const Nest nest = peel(s);
  auto r = as_reduction(nest.body);
  if (!r || nest.loops.empty() || r->target->dtype != kFloat32 ||
      r->step.as<tir::Add>() == nullptr || r->update.as<tir::Store>() == nullptr) {
    return std::nullopt;
  }
  std::vector<Loop> all = nest.loops;
  all.insert(all.end(), r->loops.begin(), r->loops.end());
  const std::vector<Access> reads = loads(r->value, bounds_of(all));
  PackedProduct p;
  p.reduction = *std::move(r);
  if (!take_spatial(p, nest.loops, reads) || !runs_along_columns(reads, p.column)) {
    return std::nullopt;
  }
  p.lanes = std::min(machine.lanes(kFloat32), p.column.size());
  const bool is_tile = p.column.size() <= kWidestTile && p.lanes > 1;
  if (!is_tile || p.column.size() % p.lanes != 0) return std::nullopt;
  return p;
}

class PackedTiles {
 public:
  PackedTiles(const PackedProduct& p, const Machine& machine) : p_(p) {
    const std::int64_t limit = machine.vector_registers / 4;
    const std::int64_t size = p.row.empty() ? 1 : p.row[0].size();
    const std::int64_t parts = std::max<std::int64_t>(1, (size + limit - 1) / limit);
    rows_ = size < 0 ? kRowsOfOpenSize : std::max<std::int64_t>(1, (size + parts - 1) / parts);
    if (p.tiles.size() == 1 && p.tiles[0].size() > 0) {
      tiles_ = std::min(kStreams, p.tiles[0].size());
    }
  }

  Contraction run() const {
    Contraction out;
    out.summary = fmt::format("decoded, {} rows, {} columns", rows_, p_.lanes);
    if (tiles_ == 1) {
      const Expr tile = p_.tiles.size() == 1 ? p_.tiles[0].var : Expr();
      out.nests = {tir::with_fresh_definitions(wrap(p_.tiles, columns(tile, 1)))};
      return out;
    }
    const Loop& loop = p_.tiles[0];
    const std::int64_t whole = loop.size() / tiles_, rest = loop.size() % tiles_;
    const Expr block = tir::make_var(name(loop) + "o");
    out.nests.push_back(tir::For::make(block, Expr(0), Expr(whole), ForKind::kSerial,
                                       columns(block * Expr(tiles_), tiles_)));
    if (rest > 0) out.nests.push_back(columns(Expr(whole * tiles_), rest));
    for (Stmt& nest : out.nests) nest = tir::with_fresh_definitions(nest);
    return out;
  }

 private:
  static const std::string& name(const Loop& l) { return l.var.as<tir::Var>()->name; }

  // Where a vector of sums is: the first row, tile and column of what is computed at once.
  struct Place {
    Expr row, tile, column;
  };

  // The columns of so many tiles.
  Stmt columns(const Expr& tile, std::int64_t tiles) const {
    const Expr vector = tir::make_var(name(p_.column) + "o");
    const Expr column = vector * Expr(p_.lanes);
    const Stmt body = tir::For::make(vector, Expr(0), Expr(p_.column.size() / p_.lanes),
                                     ForKind::kSerial, all_rows({{}, tile, column}, tiles));
    return wrap(p_.batch, body);
  }

  Stmt all_rows(Place first, std::int64_t tiles) const {
    if (p_.row.empty()) return some_rows(first, 1, tiles);
    const Loop& m = p_.row[0];
    const Expr whole = tir::floor_div(m.extent, Expr(rows_));
    const Expr rest = tir::floor_mod(m.extent, Expr(rows_));
    const Expr block = tir::make_var(name(m) + "o"), row = tir::make_var(name(m) + "r");
    first.row = block * Expr(rows_);
    std::vector<Stmt> parts{
        tir::For::make(block, Expr(0), whole, ForKind::kSerial, some_rows(first, rows_, tiles))};
    const std::int64_t* left = tir::as_int(rest);
    if (left == nullptr) {
      first.row = whole * Expr(rows_) + row;
      parts.push_back(
          tir::For::make(row, Expr(0), rest, ForKind::kSerial, some_rows(first, 1, tiles)));
    } else if (*left > 0) {
      first.row = whole * Expr(rows_);
      parts.push_back(some_rows(first, *left, tiles));
    }
    return tir::seq(std::move(parts));
  }

  // All tiles at once, or one after the other where the rows alone fill the registers.
  Stmt some_rows(Place first, std::int64_t rows, std::int64_t tiles) const {
    if (tiles == 1 || rows * tiles <= kStreams) return computed(first, rows, tiles);
    const Expr tile = tir::make_var(name(p_.tiles[0]) + "i");
    first.tile = first.tile + tile;
    return tir::For::make(tile, Expr(0), Expr(tiles), ForKind::kSerial, computed(first, rows, 1));
  }

  // What the loops' variables are for a vector of sums.
  tir::VarMap at(const Place& first, std::int64_t row, std::int64_t tile, const Expr& lane) const {
    tir::VarMap values{{p_.column.var.get(), first.column + lane}};
    const auto plus = [](const Expr& e, std::int64_t n) { return n == 0 ? e : e + Expr(n); };
    if (!p_.row.empty()) values[p_.row[0].var.get()] = plus(first.row, row);
    if (p_.tiles.size() == 1) values[p_.tiles[0].var.get()] = plus(first.tile, tile);
    return values;
  }

  Stmt computed(const Place& first, std::int64_t rows, std::int64_t tiles) const {
    const Buffer acc = tir::make_buffer("acc", kFloat32, {Expr(tiles), Expr(rows), Expr(p_.lanes)},
                                        tir::MemoryScope::kStack);
    using Body = std::function<Stmt(const std::vector<Expr>& place, const tir::VarMap& at)>;
    // All vectors of sums in one loop: what they share is read once.
    const auto each = [&](const Body& body) {
      const Expr lane = tir::make_var("lane");
      std::vector<Stmt> all;
      for (std::int64_t t = 0; t < tiles; ++t) {
        for (std::int64_t r = 0; r < rows; ++r) {
          all.push_back(body({Expr(t), Expr(r), lane}, at(first, r, t, lane)));
        }
      }
      return tir::For::make(lane, Expr(0), Expr(p_.lanes), ForKind::kVectorized,
                            tir::seq(std::move(all)));
    };
    const Reduction& r = p_.reduction;
    const Stmt zero = each([&](const std::vector<Expr>& place, const tir::VarMap&) {
      return tir::Store::make(acc, place, r.identity);
    });
    const Stmt add = each([&](const std::vector<Expr>& place, const tir::VarMap& values) {
      const Expr sum = tir::load(acc, place) + tir::substitute(r.value, values);
      return tir::Store::make(acc, place, sum);
    });
    const Stmt finish = each([&](const std::vector<Expr>& place, const tir::VarMap& values) {
      std::vector<Expr> indices;
      for (const Expr& e : r.indices) indices.push_back(tir::substitute(e, values));
      return tir::Store::make(r.target, indices, tir::load(acc, place));
    });
    return tir::Allocate::make(acc, tir::seq({zero, wrap(r.loops, add), finish}));
  }

  const PackedProduct& p_;
  std::int64_t rows_ = 1, tiles_ = 1;  // of a part of the loops
};

}  // namespace

std::optional<Contraction> schedule_packed_product(const Stmt& nest, const Machine& machine) {
  const auto product = recognise(nest, machine);
  if (!product) return std::nullopt;
  return PackedTiles(*product, machine).run();
}

}  // namespace tessera::schedule
