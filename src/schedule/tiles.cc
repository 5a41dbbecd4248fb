// SPDX-License-Identifier: Apache-2.0
// Code for a product: a tile of accumulators that fits the vector registers, for every block of
// rows and columns.
#include <algorithm>

#include <fmt/format.h>

#include "schedule/channels_last.h"
#include "schedule/contraction.h"
#include "schedule/panels.h"
#include "schedule/rules.h"
#include "tir/walk.h"

namespace tessera::schedule {
namespace {

using tir::Buffer;
using tir::Expr;
using tir::ForKind;
using tir::Stmt;

constexpr std::int64_t kRowsOfOpenSize = 12;      // of a tile
constexpr std::int64_t kRowsOfUnit = 32;          // of two tiles of the matrix unit
constexpr std::int64_t kEnoughColumnBlocks = 16;  // for threads to share, when each packs its own

// `size` in blocks of `width`, the last one smaller.
struct Blocks {
  std::int64_t size, width;
  std::int64_t whole() const { return size / width; }
  std::int64_t rest() const { return size % width; }
  std::int64_t number() const { return whole() + (rest() != 0 ? 1 : 0); }
};

// Rows of a tile: as many as registers allow, with little left over. A block of few rows takes as
// long as one of five.
Blocks row_blocks(std::int64_t rows, std::int64_t limit) {
  Blocks best{rows, std::min(rows, limit)};
  double best_cost = 0;
  for (std::int64_t w = std::min(rows, limit); w >= std::min<std::int64_t>(rows, 5); --w) {
    const Blocks b{rows, w};
    const double cost = static_cast<double>(
        b.whole() * (w + 1) + (b.rest() != 0 ? std::max<std::int64_t>(b.rest(), 5) : 0));
    if (best_cost == 0 || cost < best_cost) best_cost = cost, best = b;
  }
  return best;
}

// Of one row there must be several sums at once, since each takes longer than to begin the next
// one; and more where rows of b lie apart, of which more is read in order then.
std::int64_t vectors_of_columns(const Product& p, std::int64_t lanes) {
  if (p.m.size() != 1) return 2;
  constexpr std::int64_t kFewest = 4, kMost = 8;
  if (p.packed) return kFewest;
  return std::clamp(p.n.size() / (kEnoughColumnBlocks * lanes), kFewest, kMost);
}

// Are b's columns neighbours in memory?
bool has_rows(const Product& p) {
  const tir::Load* load = load_of(p.b);
  std::vector<Loop> all = p.shared_batch;
  all.insert(all.end(), p.reduction.begin(), p.reduction.end());
  all.push_back(p.n);
  return offset_form(load->buffer, load->indices, bounds_of(all)).coefficient(p.n.var) == 1;
}

class TileBuilder {
 public:
  TileBuilder(const Product& p, const Machine& machine) : p_(p) {
    const std::int64_t lanes = machine.lanes(p.target->dtype);
    steps_ = p.reduction;
    if (p.neighbours > 1) {
      const Loop& k = p.reduction.back();
      const std::int64_t steps = (k.size() + p.neighbours - 1) / p.neighbours;
      steps_.back() = {tir::make_var(name(k) + "o"), Expr(steps), k.kind};
    }
    const std::int64_t vectors =
        std::min(vectors_of_columns(p, lanes), (p.n.size() + lanes - 1) / lanes);
    columns_ = {p.n.size(), std::min(p.n.size(), vectors * lanes)};
    const std::int64_t spare = 1 + vectors;  // registers for b's vectors and a's element
    const std::int64_t most_rows =
        std::max<std::int64_t>(1, (machine.vector_registers - spare) / vectors);
    if (p.by_unit) {
      rows_ = {p.m.size(), p.m.size() < 0 ? kRowsOfUnit : std::min(p.m.size(), kRowsOfUnit)};
    } else {
      rows_ = p.m.size() < 0 ? Blocks{-1, std::min(kRowsOfOpenSize, most_rows)}
                             : row_blocks(p.m.size(), most_rows);
    }
    if (!p.packed) return;
    std::int64_t elements = columns_.width;
    for (const Loop& k : p.reduction) elements *= k.size();
    std::int64_t outer = columns_.whole();
    for (const Loop& l : p.shared_batch) outer *= l.size();
    // On the stack are numbers as they are computed with, and no neighbours of 16 bits.
    on_stack_ = !p.is_constant && outer >= kEnoughColumnBlocks && p.neighbours == 1 &&
                elements * p.target->dtype.size_bytes() <= machine.stack_bytes;
    make_packed_buffer();
  }

  Contraction run(const Machine& machine) {
    Contraction out;
    out.replaced = p_.replaced;
    if (p_.packed && p_.is_constant) {
      out.made.push_back(packed_constant());
    } else if (p_.packed && !on_stack_) {
      out.temporaries.push_back(packed_);
      add_packing(out.nests, machine);
    }
    const Expr block = tir::make_var(name(p_.n) + "o");
    if (columns_.whole() > 0) {
      Stmt body = column_block(block, columns_.width, machine);
      body = tir::For::make(block, Expr(0), Expr(columns_.whole()), ForKind::kSerial, body);
      out.nests.push_back(wrap(p_.shared_batch, body));
    }
    if (columns_.rest() > 0) {
      const Stmt body = column_block(Expr(columns_.whole()), columns_.rest(), machine);
      out.nests.push_back(wrap(p_.shared_batch, body));
      if (columns_.whole() > 0) out.nests.back() = tir::with_fresh_definitions(out.nests.back());
    }
    out.summary = fmt::format("tile {}x{}{}{}", rows_.width, columns_.width,
                              p_.by_unit ? " of the matrix unit" : "",
                              !p_.packed       ? ""
                              : p_.is_constant ? ", packed when compiling"
                              : on_stack_      ? ", panel on the stack"
                                               : ", packed");
    return out;
  }

 private:
  static const std::string& name(const Loop& l) { return l.var.as<tir::Var>()->name; }

  void make_packed_buffer() {
    std::vector<Expr> shape;
    if (!on_stack_) {
      for (const Loop& l : p_.shared_batch) shape.push_back(l.extent);
      shape.emplace_back(columns_.number());
    }
    for (const Loop& k : steps_) shape.push_back(k.extent);
    shape.emplace_back(columns_.width);
    if (p_.neighbours > 1) shape.emplace_back(p_.neighbours);
    const tir::MemoryScope scope = p_.is_constant ? tir::MemoryScope::kConstant
                                   : on_stack_    ? tir::MemoryScope::kStack
                                                  : tir::MemoryScope::kGlobal;
    packed_ = tir::make_buffer(on_stack_ ? "panel" : "packed",
                               on_stack_ ? p_.target->dtype : load_of(p_.b)->dtype, shape, scope);
  }

  MadeConstant packed_constant() const {
    std::vector<Loop> all = p_.shared_batch;
    all.insert(all.end(), p_.reduction.begin(), p_.reduction.end());
    all.push_back(p_.n);
    const tir::Load* load = load_of(p_.b);
    const tir::IndexForm place = offset_form(load->buffer, load->indices, bounds_of(all));
    const auto axis = [&](const Loop& l) { return Axis{l.size(), place.coefficient(l.var)}; };
    Panels panels;
    panels.first = place.constant;
    panels.width = columns_.width;
    panels.column = axis(p_.n);
    for (const Loop& l : p_.shared_batch) panels.outer.push_back(axis(l));
    for (const Loop& l : p_.reduction) panels.inner.push_back(axis(l));
    panels.neighbours = p_.neighbours;
    return {load->buffer, packed_,
            [panels](const Tensor& t) { return std::optional(packed(t, panels)); }};
  }

  // Where the packed operand has the element of column `lane` of a block, of some neighbours this
  // one; other indices are loop variables.
  std::vector<Expr> packed_indices(const Expr& block, const Expr& lane,
                                   const Expr& neighbour) const {
    std::vector<Expr> out;
    if (!on_stack_) {
      for (const Loop& l : p_.shared_batch) out.push_back(l.var);
      out.push_back(block);
    }
    for (const Loop& k : steps_) out.push_back(k.var);
    out.push_back(lane);
    if (p_.neighbours > 1) out.push_back(neighbour);
    return out;
  }

  // What the reduction's last variable is for a neighbour.
  tir::VarMap step(const Expr& neighbour) const {
    if (p_.neighbours == 1) return {};
    return {{p_.reduction.back().var.get(), steps_.back().var * Expr(p_.neighbours) + neighbour}};
  }

  // Copies columns [block * width, + lanes) of b; `outer` loops around it.
  Stmt packing(const std::vector<Loop>& outer, const Expr& block, std::int64_t lanes,
               const tir::Bounds& bounds, const Machine& machine) const {
    const Loop lane{tir::make_var(name(p_.n) + "i"), Expr(lanes)};
    Nest nest{outer, {}};
    // Rows of b are read from their beginning to their end, where they lie in memory.
    const bool in_rows = !outer.empty() && outer.back().var.same_as(block) && has_rows(p_);
    nest.loops.insert(in_rows ? nest.loops.end() - 1 : nest.loops.end(), steps_.begin(),
                      steps_.end());
    nest.loops.push_back(lane);
    const Loop neighbour{tir::make_var("pair"), Expr(p_.neighbours)};
    if (p_.neighbours > 1) nest.loops.push_back(neighbour);
    tir::VarMap at = step(neighbour.var);
    at[p_.n.var.get()] = block * Expr(columns_.width) + lane.var;
    const tir::Load* load = load_of(p_.b);
    Expr value =
        tir::cast(tir::substitute(tir::load(load->buffer, load->indices), at), packed_->dtype);
    if (p_.neighbours > 1 && p_.reduction.back().size() % p_.neighbours != 0) {
      const Loop& k = p_.reduction.back();
      value =
          tir::select(tir::lt(at.at(k.var.get()), k.extent), value, tir::imm(0, packed_->dtype));
    }
    nest.body = tir::Store::make(packed_, packed_indices(block, lane.var, neighbour.var), value);
    return tir::with_fresh_definitions(schedule_map(std::move(nest), bounds, machine));
  }

  void add_packing(std::vector<Stmt>& nests, const Machine& machine) const {
    const Loop block{tir::make_var(name(p_.n) + "o"), Expr(columns_.whole())};
    std::vector<Loop> outer = p_.shared_batch;
    outer.push_back(block);
    if (columns_.whole() > 0) {
      nests.push_back(packing(outer, block.var, columns_.width, {}, machine));
    }
    outer.pop_back();
    if (columns_.rest() > 0) {
      nests.push_back(packing(outer, Expr(columns_.whole()), columns_.rest(), {}, machine));
    }
  }

  // All rows of some columns.
  Stmt column_block(const Expr& block, std::int64_t width, const Machine& machine) const {
    std::vector<Stmt> tiles;
    const Expr row = tir::make_var(name(p_.m) + "o");
    const auto blocks_of_rows = [&](const Expr& number) {
      tiles.push_back(
          tir::For::make(row, Expr(0), number, ForKind::kSerial,
                         tile(row * Expr(rows_.width), Expr(rows_.width), block, width)));
    };
    if (rows_.size < 0 && p_.by_unit) {
      const Expr first = row * Expr(rows_.width), number = p_.m.extent + Expr(rows_.width - 1);
      tiles.push_back(tir::For::make(
          row, Expr(0), tir::floor_div(number, Expr(rows_.width)), ForKind::kSerial,
          tile(first, tir::min(Expr(rows_.width), p_.m.extent - first), block, width)));
    } else if (rows_.size < 0) {
      blocks_of_rows(tir::floor_div(p_.m.extent, Expr(rows_.width)));
      tiles.push_back(open_rest(block, width));
    } else if (rows_.whole() > 0) {
      blocks_of_rows(Expr(rows_.whole()));
    }
    if (rows_.size > 0 && rows_.rest() > 0) {
      tiles.push_back(tile(Expr(rows_.whole() * rows_.width), Expr(rows_.rest()), block, width));
    }
    Stmt body = wrap(p_.other_batch, tir::seq(std::move(tiles)));
    if (!p_.packed || !on_stack_) return body;
    tir::Bounds bounds = bounds_of(p_.shared_batch);
    if (block.as<tir::Var>() != nullptr) bounds.set_loop(block, 0, Expr(columns_.number()));
    body = tir::seq({packing({}, block, width, bounds, machine), body});
    return tir::Allocate::make(packed_, body);
  }

  // The rows of an open number that fill no tile.
  Stmt open_rest(const Expr& block, std::int64_t width) const {
    const Expr& extent = p_.m.extent;
    const Expr first = tir::floor_div(extent, Expr(rows_.width)) * Expr(rows_.width);
    const Expr rest = tir::floor_mod(extent, Expr(rows_.width));
    if (p_.other_batch.empty()) {
      const Expr row = tir::make_var(name(p_.m) + "r");
      return tir::For::make(row, Expr(0), rest, ForKind::kSerial,
                            tile(first + row, Expr(1), block, width));
    }
    // Each line of an image has some, and one row takes as long as five: a tile of which those that
    // there are not repeat the last one, and are not stored.
    const std::int64_t half = (rows_.width + 1) / 2;
    const auto padded = [&](std::int64_t rows) {
      return tile(first, Expr(rows), block, width, extent);
    };
    return tir::IfThenElse::make(
        tir::lt(Expr(half), rest), padded(rows_.width),
        tir::IfThenElse::make(tir::lt(Expr(0), rest), padded(half), Stmt()));
  }

  // rows x columns accumulators: zero them, run the reduction, store with the epilogue. With an
  // `end`, which is behind the first row, rows from there on are not stored.
  Stmt tile(const Expr& first_row, const Expr& rows, const Expr& block, std::int64_t columns,
            const Expr& end = {}) const {
    const std::int64_t* known = tir::as_int(rows);
    const Buffer acc = tir::make_buffer(
        "acc", p_.target->dtype, {Expr(known != nullptr ? *known : rows_.width), Expr(columns)},
        tir::MemoryScope::kStack);
    const ForKind kind = p_.by_unit ? ForKind::kSerial : ForKind::kUnrolled;
    const auto each = [&](const std::function<Stmt(const Expr&, const Expr&)>& body,
                          const Expr& up_to = {}) {
      const Expr r = tir::make_var(name(p_.m) + "i"), c = tir::make_var(name(p_.n) + "i");
      Stmt lanes = tir::For::make(c, Expr(0), Expr(columns), ForKind::kVectorized, body(r, c));
      if (up_to) lanes = tir::IfThenElse::make(tir::lt(first_row + r, up_to), lanes, Stmt());
      return tir::For::make(r, Expr(0), rows, kind, lanes);
    };
    const auto at = [&](const Expr& row, const Expr& c) {
      return tir::VarMap{{p_.m.var.get(), row}, {p_.n.var.get(), block * Expr(columns_.width) + c}};
    };
    const Stmt zero = each([&](const Expr& r, const Expr& c) {
      return tir::Store::make(acc, std::vector<Expr>{r, c}, p_.identity);
    });
    const Stmt add = each([&](const Expr& r, const Expr& c) {
      const Expr sum = tir::load(acc, {r, c});
      const Expr row = end ? tir::min(first_row + r, end - 1) : first_row + r;
      return tir::Store::make(acc, std::vector<Expr>{r, c}, sum_with(sum, block, c, at(row, c)));
    });
    const Stmt finish = each(
        [&](const Expr& r, const Expr& c) {
          return schedule::finished(p_, tir::load(acc, {r, c}), at(first_row + r, c));
        },
        end);
    const Stmt body = tir::seq({zero, wrap(p_.by_unit ? p_.reduction : steps_, add), finish});
    return tir::Allocate::make(acc, tir::with_fresh_definitions(body));
  }

  // With the products of one step of the innermost loop, of one term in the form that the matrix
  // unit computes (emit/tile_product.h); `at`: where m and n are.
  Expr sum_with(Expr sum, const Expr& block, const Expr& column, const tir::VarMap& at) const {
    const std::int64_t terms = p_.by_unit ? 1 : p_.neighbours;
    for (std::int64_t i = 0; i < terms; ++i) {
      tir::VarMap here = at;
      if (!p_.by_unit) here.merge(step(Expr(i)));
      sum = sum + tir::substitute(p_.a, here) * columns_of_b(block, column, Expr(i), here);
    }
    return sum;
  }

  Expr columns_of_b(const Expr& block, const Expr& column, const Expr& neighbour,
                    const tir::VarMap& at) const {
    if (!p_.packed) return tir::substitute(p_.b, at);
    std::vector<Expr> indices = packed_indices(block, column, neighbour);
    if (p_.by_unit) {
      const Expr &k = p_.reduction.back().var, n = Expr(p_.neighbours);
      *(indices.end() - 3) = tir::floor_div(k, n);
      indices.back() = tir::floor_mod(k, n);
    }
    return tir::cast(tir::load(packed_, indices), p_.target->dtype);
  }

  const Product& p_;
  std::vector<Loop> steps_;  // of the reduction
  Blocks rows_{}, columns_{};
  bool on_stack_ = false;
  Buffer packed_;
};

}  // namespace

std::optional<Contraction> schedule_contraction(std::span<const Stmt> nests,
                                                const Surroundings& around,
                                                const Machine& machine) {
  auto product = recognise_product(nests, around, machine);
  if (!product) return std::nullopt;
  auto image = put_channels_last(*product);
  Contraction out = TileBuilder(*product, machine).run(machine);
  if (image) {
    out.temporaries.push_back(image->copy);
    out.nests.insert(out.nests.begin(), schedule_map(std::move(image->copying), {}, machine));
    out.summary += ", channels last";
  }
  return out;
}

}  // namespace tessera::schedule
