// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>

#include "schedule/device.h"
#include "schedule/primitives.h"

namespace tessera::schedule {
namespace {

using tir::Buffer;
using tir::Expr;
using tir::ForKind;
using tir::Stmt;

constexpr std::int64_t kVectorBytes = 16;
constexpr std::int64_t kTile = 32;
constexpr std::int64_t kMinTiledExtent = 16;
constexpr std::int64_t kVectorsOfTile = 8;    // along each side, where accesses are vectors
constexpr std::int64_t kTilesThatFill = 256;  // so many fill the device

// How many neighbours along the innermost loop one thread takes: what the widest element that the
// nest writes leaves room for, if the loop divides by it.
std::int64_t vector_width(const Nest& nest) {
  const std::int64_t extent = nest.loops.back().size();
  std::int64_t bytes = 2;  // eight elements at most
  for (const Access& a : accesses(nest.body)) {
    if (a.is_store) bytes = std::max<std::int64_t>(bytes, a.buffer->dtype.size_bytes());
  }
  std::int64_t width = kVectorBytes / bytes;
  while (width > 1 && (extent < 0 || extent % width != 0)) width /= 2;
  return width;
}

// A load that runs along memory with an outer loop, while the nest stores along the innermost one.
struct Crossing {
  std::size_t loop = 0;
  Buffer buffer;
};
std::optional<Crossing> crossing(const Nest& nest) {
  if (nest.loops.size() < 2 || nest.loops.back().size() < kMinTiledExtent) return std::nullopt;
  const Expr& inner = nest.loops.back().var;
  std::optional<Crossing> found;
  for (const Access& a : accesses(nest.body, bounds_of(nest.loops))) {
    if (a.is_store && a.offset.coefficient(inner) != 1) return std::nullopt;
    if (a.is_store || std::abs(a.offset.coefficient(inner)) <= 1) continue;
    for (std::size_t i = 0; i + 1 < nest.loops.size(); ++i) {
      const bool along = a.offset.coefficient(nest.loops[i].var) == 1;
      if (!along || nest.loops[i].size() < kMinTiledExtent) continue;
      if (found && (found->loop != i || found->buffer != a.buffer)) return std::nullopt;
      found = Crossing{i, a.buffer};
    }
  }
  return found;
}

// The load as an expression if it is one place, read without condition.
const tir::Load* only_load(const Stmt& body, const Buffer& buffer) {
  const tir::Load* found = nullptr;
  bool unique = true;
  tir::for_each_node(body, [&](const Expr& e) {
    unique &= e.as<tir::Select>() == nullptr && e.as<tir::And>() == nullptr;
    const auto* load = e.as<tir::Load>();
    if (load == nullptr || load->buffer != buffer) return;
    unique &= found == nullptr || found == load;
    found = load;
  });
  return unique ? found : nullptr;
}

class ReplaceLoad : public tir::Mutator {
 public:
  ReplaceLoad(const tir::Load* load, Expr by) : load_(load), by_(std::move(by)) {}
  using Mutator::mutate;
  Expr mutate(const Expr& e) override {
    return e.as<tir::Load>() == load_ ? by_ : Mutator::mutate(e);
  }

 private:
  const tir::Load* load_;
  Expr by_;
};

// The two crossing loops cut into tiles; threads take `width` neighbours at a time, along the one
// loop when they read and along the other when they write.
struct Tiling {
  std::int64_t size = kTile, width = 1;
  std::int64_t count(const Loop& l) const { return (l.size() + size - 1) / size; }
};

// Vectors, where both loops divide by them and the tiles, which are larger then, are many.
Tiling tiling(const Nest& nest, const Loop& rows, const Loop& columns, DType loaded) {
  std::int64_t bytes = loaded.size_bytes(), others = 1;
  for (const Access& a : accesses(nest.body)) {
    if (a.is_store) bytes = std::max<std::int64_t>(bytes, a.buffer->dtype.size_bytes());
  }
  for (const Loop& l : nest.loops) others *= std::max<std::int64_t>(1, l.size());
  const std::int64_t width = bytes > 4 ? 1 : kVectorBytes / std::max<std::int64_t>(2, bytes);
  const Tiling vectors{kVectorsOfTile * width, width};
  const bool fits = width > 1 && rows.size() % width == 0 && columns.size() % width == 0;
  return fits && others / (vectors.size * vectors.size) >= kTilesThatFill ? vectors : Tiling{};
}

// A block for a tile of the two crossing loops: it reads along the one and writes along the other.
std::optional<Stmt> transposed(const Nest& nest, const Crossing& c) {
  const tir::Load* load = only_load(nest.body, c.buffer);
  if (load == nullptr || nest.body.as<tir::Store>() == nullptr) return std::nullopt;
  const Loop &columns = nest.loops.back(), &rows = nest.loops[c.loop];
  std::vector<Loop> outer;
  for (std::size_t i = 0; i + 1 < nest.loops.size(); ++i) {
    if (i != c.loop) outer.push_back(nest.loops[i]);
  }
  const Tiling cut = tiling(nest, rows, columns, load->dtype);
  const std::int64_t row_tiles = cut.count(rows), column_tiles = cut.count(columns);
  const Expr b = tir::make_var("tile");
  tir::VarMap at = iteration(outer, tir::floor_div(b, Expr(row_tiles * column_tiles)));
  const Expr row0 =
      tir::floor_mod(tir::floor_div(b, Expr(column_tiles)), Expr(row_tiles)) * cut.size;
  const Expr column0 = tir::floor_mod(b, Expr(column_tiles)) * cut.size;
  // Four bytes more a row than there are, so that a column's elements lie in different banks.
  // Floats of 16 bits lie there as float.
  const std::int64_t padding =
      load->dtype.is_float() ? 1 : std::max<std::int64_t>(1, 4 / load->dtype.size_bytes());
  const Buffer tile =
      tir::make_buffer(c.buffer->name + "_tile", load->dtype,
                       {Expr(cut.size), Expr(cut.size + padding)}, tir::MemoryScope::kShared);
  const auto over_tile = [&](bool along_rows, const auto& body) {
    const Expr t = tir::make_var("t"), v = tir::make_var("v");
    const std::int64_t across = cut.size / cut.width;
    const Expr first = tir::floor_mod(t, Expr(across)) * cut.width;
    const Expr fast = cut.width == 1 ? first : first + v, slow = tir::floor_div(t, Expr(across));
    const auto place = [&](const Expr& along) {
      return along_rows ? std::pair(along, slow) : std::pair(slow, along);
    };
    const auto [row, column] = place(fast);
    const auto [first_row, first_column] = place(first);
    tir::VarMap here = at;
    here[rows.var.get()] = row0 + row;
    here[columns.var.get()] = column0 + column;
    const Expr inside = tir::logical_and(tir::lt(row0 + first_row, rows.extent),
                                         tir::lt(column0 + first_column, columns.extent));
    Stmt each = body(row, column, here);
    if (cut.width > 1) {
      each = tir::For::make(v, Expr(0), Expr(cut.width), ForKind::kVectorized, each);
    }
    return tir::For::make(t, Expr(0), Expr(cut.size * across), ForKind::kThreads,
                          tir::IfThenElse::make(inside, each, Stmt()));
  };
  const Stmt fill = over_tile(true, [&](const Expr& row, const Expr& column, const tir::VarMap& m) {
    return tir::Store::make(tile, std::vector<Expr>{column, row},
                            tir::substitute(tir::load(load->buffer, load->indices), m));
  });
  const Stmt use = over_tile(false, [&](const Expr& row, const Expr& column, const tir::VarMap& m) {
    return tir::substitute(ReplaceLoad(load, tir::load(tile, {column, row})).mutate(nest.body), m);
  });
  return tir::For::make(b, Expr(0), iterations(outer) * Expr(row_tiles * column_tiles),
                        ForKind::kBlocks, tir::Allocate::make(tile, tir::seq({fill, use})));
}

}  // namespace

Stmt device_map(Nest nest) {
  nest = collapse_all(std::move(nest));
  if (const auto c = crossing(nest)) {
    if (auto tiled = transposed(nest, *c)) return *tiled;
  }
  Stmt body = nest.body;
  std::vector<Loop> loops = nest.loops;
  if (const std::int64_t width = loops.empty() ? 1 : vector_width(nest); width > 1) {
    const auto cut = split(nest, loops.size() - 1, width);
    TESSERA_CHECK(cut.has_value(), "a loop that divides by {}", width);
    loops = cut->loops;
    loops.back().kind = ForKind::kVectorized;
    body = wrap({loops.back()}, cut->body);
    loops.pop_back();
  }
  const Expr i = tir::make_var("i");
  return tir::For::make(i, Expr(0), iterations(loops), ForKind::kGrid,
                        tir::substitute(body, iteration(loops, i)));
}

}  // namespace tessera::schedule
