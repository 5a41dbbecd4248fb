// SPDX-License-Identifier: Apache-2.0
// Code for a product: a tile of accumulators that fits the vector registers, for every block of
// rows and columns.
#include <algorithm>

#include <fmt/format.h>

#include "schedule/contraction.h"
#include "schedule/rules.h"
#include "tir/walk.h"

namespace tessera::schedule {
namespace {

using tir::Buffer;
using tir::Expr;
using tir::ForKind;
using tir::Stmt;

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

class TileBuilder {
 public:
  TileBuilder(const Product& p, const Machine& machine) : p_(p) {
    const std::int64_t lanes = machine.lanes(p.target->dtype);
    const std::int64_t vectors = std::min<std::int64_t>(2, (p.n.size() + lanes - 1) / lanes);
    columns_ = {p.n.size(), std::min(p.n.size(), vectors * lanes)};
    const std::int64_t spare = 1 + vectors;  // registers for b's vectors and a's element
    rows_ = row_blocks(p.m.size(), (machine.vector_registers - spare) / vectors);
    if (!p.packed) return;
    std::int64_t elements = columns_.width;
    for (const Loop& k : p.reduction) elements *= k.size();
    std::int64_t outer = columns_.whole();
    for (const Loop& l : p.shared_batch) outer *= l.size();
    on_stack_ = elements * p.target->dtype.size_bytes() <= machine.stack_bytes &&
                outer >= kEnoughColumnBlocks;
    make_packed_buffer();
  }

  Contraction run(const Machine& machine) {
    Contraction out;
    out.replaced = p_.replaced;
    if (p_.packed && !on_stack_) {
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
    out.summary = fmt::format("tile {}x{}{}", rows_.width, columns_.width,
                              !p_.packed  ? ""
                              : on_stack_ ? ", panel on the stack"
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
    for (const Loop& k : p_.reduction) shape.push_back(k.extent);
    shape.emplace_back(columns_.width);
    packed_ = tir::make_buffer(on_stack_ ? "panel" : "packed", p_.target->dtype, shape,
                               on_stack_ ? tir::MemoryScope::kStack : tir::MemoryScope::kGlobal);
  }

  // Where the packed operand has the element of column `lane` of a block; other indices are loop
  // variables.
  std::vector<Expr> packed_indices(const Expr& block, const Expr& lane) const {
    std::vector<Expr> out;
    if (!on_stack_) {
      for (const Loop& l : p_.shared_batch) out.push_back(l.var);
      out.push_back(block);
    }
    for (const Loop& k : p_.reduction) out.push_back(k.var);
    out.push_back(lane);
    return out;
  }

  // Copies columns [block * width, + lanes) of b; `outer` loops around it.
  Stmt packing(const std::vector<Loop>& outer, const Expr& block, std::int64_t lanes,
               const tir::Bounds& bounds, const Machine& machine) const {
    const Loop lane{tir::make_var(name(p_.n) + "i"), Expr(lanes)};
    Nest nest{outer, {}};
    nest.loops.insert(nest.loops.end(), p_.reduction.begin(), p_.reduction.end());
    nest.loops.push_back(lane);
    const Expr value =
        tir::substitute(p_.b, {{p_.n.var.get(), block * Expr(columns_.width) + lane.var}});
    nest.body = tir::Store::make(packed_, packed_indices(block, lane.var), value);
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
    if (rows_.whole() > 0) {
      tiles.push_back(tir::For::make(row, Expr(0), Expr(rows_.whole()), ForKind::kSerial,
                                     tile(row * Expr(rows_.width), rows_.width, block, width)));
    }
    if (rows_.rest() > 0) {
      tiles.push_back(tile(Expr(rows_.whole() * rows_.width), rows_.rest(), block, width));
    }
    Stmt body = wrap(p_.other_batch, tir::seq(std::move(tiles)));
    if (!p_.packed || !on_stack_) return body;
    tir::Bounds bounds = bounds_of(p_.shared_batch);
    if (block.as<tir::Var>() != nullptr) bounds.set_loop(block, 0, Expr(columns_.number()));
    body = tir::seq({packing({}, block, width, bounds, machine), body});
    return tir::Allocate::make(packed_, body);
  }

  // rows x columns accumulators: zero them, run the reduction, store with the epilogue.
  Stmt tile(const Expr& first_row, std::int64_t rows, const Expr& block,
            std::int64_t columns) const {
    const Buffer acc = tir::make_buffer("acc", p_.target->dtype, {Expr(rows), Expr(columns)},
                                        tir::MemoryScope::kStack);
    const auto each = [&](const std::function<Stmt(const Expr&, const Expr&)>& body) {
      const Expr r = tir::make_var(name(p_.m) + "i"), c = tir::make_var(name(p_.n) + "i");
      const Stmt lanes =
          tir::For::make(c, Expr(0), Expr(columns), ForKind::kVectorized, body(r, c));
      return tir::For::make(r, Expr(0), Expr(rows), ForKind::kUnrolled, lanes);
    };
    const auto at = [&](const Expr& r, const Expr& c) {
      return tir::VarMap{{p_.m.var.get(), first_row + r},
                         {p_.n.var.get(), block * Expr(columns_.width) + c}};
    };
    const Stmt zero = each([&](const Expr& r, const Expr& c) {
      return tir::Store::make(acc, std::vector<Expr>{r, c}, p_.identity);
    });
    const Stmt add = each([&](const Expr& r, const Expr& c) {
      const Expr b = p_.packed ? tir::load(packed_, packed_indices(block, c))
                               : tir::substitute(p_.b, at(r, c));
      const Expr product = tir::substitute(p_.a, at(r, c)) * b;
      return tir::Store::make(acc, std::vector<Expr>{r, c}, tir::load(acc, {r, c}) + product);
    });
    const Stmt finish =
        each([&](const Expr& r, const Expr& c) { return finished(acc, r, c, at(r, c)); });
    const Stmt body = tir::seq({zero, wrap(p_.reduction, add), finish});
    return tir::Allocate::make(acc, tir::with_fresh_definitions(body));
  }

  // An element's epilogue, with the accumulator in place of the target.
  Stmt finished(const Buffer& acc, const Expr& r, const Expr& c, const tir::VarMap& at) const {
    struct FromAccumulator : tir::Mutator {
      const Buffer& target;
      Expr element;
      FromAccumulator(const Buffer& t, Expr e) : target(t), element(std::move(e)) {}
      using Mutator::mutate;
      Expr mutate(const Expr& e) override {
        const auto* l = e.as<tir::Load>();
        return l != nullptr && l->buffer == target ? element : Mutator::mutate(e);
      }
    };
    FromAccumulator from(p_.target, tir::load(acc, {r, c}));
    std::vector<Stmt> body;
    if (p_.target_is_kept) {
      std::vector<Expr> indices;
      for (const Expr& e : p_.indices) indices.push_back(tir::substitute(e, at));
      body.push_back(tir::Store::make(p_.target, indices, from.element));
    }
    for (const Stmt& s : p_.epilogue) {
      body.push_back(from.mutate(tir::substitute(tir::with_fresh_definitions(s), at)));
    }
    return tir::seq(std::move(body));
  }

  const Product& p_;
  Blocks rows_{}, columns_{};
  bool on_stack_ = false;
  Buffer packed_;
};

}  // namespace

std::optional<Contraction> schedule_contraction(std::span<const Stmt> nests,
                                                const std::vector<Buffer>& temporaries,
                                                const Machine& machine) {
  const auto product = recognise_product(nests, temporaries, machine);
  if (!product) return std::nullopt;
  return TileBuilder(*product, machine).run(machine);
}

}  // namespace tessera::schedule
