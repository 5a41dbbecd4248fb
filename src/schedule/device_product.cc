// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "schedule/accumulator.h"
#include "schedule/contraction.h"
#include "schedule/device.h"
#include "tir/device_loops.h"

namespace tessera::schedule {
namespace {

using tir::Buffer;
using tir::Expr;
using tir::ForKind;
using tir::Stmt;

constexpr std::int64_t kTile = 64;   // rows and columns of a block's part of the result
constexpr std::int64_t kDepth = 16;  // terms that lie in shared memory at a time
constexpr std::int64_t kEach = 4;    // rows and columns of a thread's part
constexpr std::int64_t kAcross = kTile / kEach;
constexpr std::int64_t kMinExtent = 16;  // of rows and columns, for tiles to be worth it
static_assert(kAcross * kAcross == tir::kMaxTeamThreads);

// One operand and the loops that it alone moves with.
struct Operand {
  Expr value;
  std::vector<Loop> loops;
  std::string name;
};

// target[batch, m, n] = sum over k of a(batch, m, k) * b(batch, n, k); n has the innermost loop, so
// that results are written along memory.
struct Roles {
  std::vector<Loop> batch;
  Operand a, b;
};

std::int64_t known_size(const std::vector<Loop>& loops) {
  const Expr all = iterations(loops);
  const std::int64_t* n = tir::as_int(all);
  return n != nullptr ? *n : kTile;  // known at run time: worth it
}

std::optional<Roles> roles_of(const Nest& nest, const Reduction& r) {
  const auto* product = r.value.as<tir::Mul>();
  if (product == nullptr || r.step.as<tir::Add>() == nullptr) return std::nullopt;
  if (r.update.as<tir::Store>() == nullptr || nest.loops.empty()) return std::nullopt;
  Roles roles{{}, {product->a, {}, "a"}, {product->b, {}, "b"}};
  if (tir::uses_var(product->a, nest.loops.back().var)) std::swap(roles.a.value, roles.b.value);
  for (const Loop& l : nest.loops) {
    const bool in_a = tir::uses_var(roles.a.value, l.var);
    const bool in_b = tir::uses_var(roles.b.value, l.var);
    (in_a == in_b ? roles.batch : in_a ? roles.a.loops : roles.b.loops).push_back(l);
  }
  if (known_size(roles.a.loops) < kMinExtent || known_size(roles.b.loops) < kMinExtent ||
      known_size(r.loops) < kMinExtent / 2) {
    return std::nullopt;
  }
  return roles;
}

class Tiles {
 public:
  Tiles(const Roles& roles, const Reduction& r, std::vector<Stmt> epilogue, bool keeps_target)
      : roles_(roles), r_(r), epilogue_(std::move(epilogue)), keeps_target_(keeps_target) {
    rows_ = iterations(roles.a.loops);
    columns_ = iterations(roles.b.loops);
    terms_ = iterations(r.loops);
    const Expr tile = tir::make_var("tile");
    const Expr across = tiles_of(columns_), down = tiles_of(rows_);
    batch_ = iteration(roles.batch, tir::floor_div(tile, across * down));
    row0_ = tir::floor_mod(tir::floor_div(tile, across), down) * kTile;
    column0_ = tir::floor_mod(tile, across) * kTile;
    tile_ = tile;
    num_tiles_ = iterations(roles.batch) * across * down;
  }

  Stmt build() {
    acc_ = tir::make_buffer(r_.target->name + "_acc", r_.target->dtype,
                            {Expr(tir::kMaxTeamThreads), Expr(kEach), Expr(kEach)},
                            tir::MemoryScope::kStack);
    const Buffer a = shared("a_tile", roles_.a.value.dtype());
    const Buffer b = shared("b_tile", roles_.b.value.dtype());
    const Expr step = tir::make_var("step");
    const Stmt steps = tir::For::make(
        step, Expr(0), tir::floor_div(terms_ + (kDepth - 1), Expr(kDepth)), ForKind::kSerial,
        tir::seq({fill(a, roles_.a, row0_, rows_, step),
                  fill(b, roles_.b, column0_, columns_, step), multiply(a, b)}));
    const Stmt start = each([&](const std::vector<Expr>& at, const Expr&, const Expr&) {
      return tir::Store::make(acc_, at, r_.identity);
    });
    const Stmt body = tir::Allocate::make(
        acc_, tir::seq({start, tir::Allocate::make(a, tir::Allocate::make(b, steps)), finish()}));
    return tir::For::make(tile_, Expr(0), num_tiles_, ForKind::kBlocks, body);
  }

 private:
  static Expr tiles_of(const Expr& extent) {
    return tir::floor_div(extent + (kTile - 1), Expr(kTile));
  }
  // Four elements more a row: neighbouring rows begin in different banks.
  static Buffer shared(const std::string& name, DType dtype) {
    return tir::make_buffer(name, dtype, {Expr(kDepth), Expr(kTile + 4)},
                            tir::MemoryScope::kShared);
  }

  // Does the operand lie along memory in the last loop of the reduction?
  bool runs_along_terms(const Operand& operand) const {
    if (r_.loops.empty()) return false;
    std::vector<Loop> all = roles_.batch;
    for (const auto* loops : {&roles_.a.loops, &roles_.b.loops, &r_.loops}) {
      all.insert(all.end(), loops->begin(), loops->end());
    }
    const std::vector<Access> read = loads(operand.value, bounds_of(all));
    return std::any_of(read.begin(), read.end(), [&](const Access& x) {
      return x.offset.coefficient(r_.loops.back().var) == 1;
    });
  }

  Stmt fill(const Buffer& into, const Operand& operand, const Expr& first, const Expr& extent,
            const Expr& step) const {
    const Expr t = tir::make_var("t");
    const bool by_term = runs_along_terms(operand);
    const Expr k = by_term ? tir::floor_mod(t, Expr(kDepth)) : tir::floor_div(t, Expr(kTile));
    const Expr i = by_term ? tir::floor_div(t, Expr(kDepth)) : tir::floor_mod(t, Expr(kTile));
    const Expr element = tir::make_var("at"), term = tir::make_var("term");
    tir::VarMap values = iteration(operand.loops, element);
    for (const auto& more : {iteration(r_.loops, term), batch_}) {
      values.insert(more.begin(), more.end());
    }
    const Expr inside = tir::logical_and(tir::lt(element, extent), tir::lt(term, terms_));
    const Expr value = tir::select(inside, tir::substitute(operand.value, values),
                                   tir::imm(0, operand.value.dtype()));
    const Stmt body = tir::LetStmt::make(
        element, first + i,
        tir::LetStmt::make(term, step * kDepth + k,
                           tir::Store::make(into, std::vector<Expr>{k, i}, value)));
    return tir::For::make(t, Expr(0), Expr(kTile * kDepth), ForKind::kThreads, body);
  }

  // For each of a thread's elements: where it is in acc, and which row and column of the tile.
  template <class F>
  static Stmt each(const F& body) {
    const Expr t = tir::make_var("t"), i = tir::make_var("i"), j = tir::make_var("j");
    const Expr row = tir::floor_div(t, Expr(kAcross)) * kEach + i;
    const Expr column = tir::floor_mod(t, Expr(kAcross)) * kEach + j;
    const Stmt inner = body({t, i, j}, row, column);
    return tir::For::make(
        t, Expr(0), Expr(tir::kMaxTeamThreads), ForKind::kThreads,
        tir::For::make(i, Expr(0), Expr(kEach), ForKind::kUnrolled,
                       tir::For::make(j, Expr(0), Expr(kEach), ForKind::kUnrolled, inner)));
  }

  Stmt multiply(const Buffer& a, const Buffer& b) const {
    const Expr t = tir::make_var("t"), k = tir::make_var("k");
    const Expr i = tir::make_var("i"), j = tir::make_var("j");
    const Expr row = tir::floor_div(t, Expr(kAcross)) * kEach + i;
    const Expr column = tir::floor_mod(t, Expr(kAcross)) * kEach + j;
    Stmt body = tir::Store::make(
        acc_, std::vector<Expr>{t, i, j},
        tir::load(acc_, {t, i, j}) + tir::load(a, {k, row}) * tir::load(b, {k, column}));
    for (const auto& [var, extent] :
         {std::pair{j, kEach}, std::pair{i, kEach}, std::pair{k, kDepth}}) {
      body = tir::For::make(var, Expr(0), Expr(extent), ForKind::kUnrolled, body);
    }
    return tir::For::make(t, Expr(0), Expr(tir::kMaxTeamThreads), ForKind::kThreads, body);
  }

  Stmt finish() {
    return each([&](const std::vector<Expr>& at, const Expr& row, const Expr& column) {
      const Expr m = tir::make_var("row"), n = tir::make_var("column");
      tir::VarMap values = batch_;
      for (const auto& more : {iteration(roles_.a.loops, m), iteration(roles_.b.loops, n)}) {
        values.insert(more.begin(), more.end());
      }
      std::vector<Stmt> stores;
      if (keeps_target_) {
        stores.push_back(
            tir::substitute(tir::Store::make(r_.target, r_.indices, tir::load(acc_, at)), values));
      }
      ToAccumulator to(r_.target, acc_, at);
      for (const Stmt& s : epilogue_) stores.push_back(tir::substitute(to.mutate(s), values));
      const Expr inside = tir::logical_and(tir::lt(m, rows_), tir::lt(n, columns_));
      const Stmt guarded = tir::IfThenElse::make(inside, tir::seq(std::move(stores)), Stmt());
      return tir::LetStmt::make(m, row0_ + row, tir::LetStmt::make(n, column0_ + column, guarded));
    });
  }

  const Roles& roles_;
  const Reduction& r_;
  std::vector<Stmt> epilogue_;
  bool keeps_target_;
  Expr rows_, columns_, terms_, tile_, num_tiles_, row0_, column0_;
  tir::VarMap batch_;
  Buffer acc_;
};

bool touches(const Stmt& s, const Buffer& b) {
  const std::vector<Access> all = accesses(s);
  return std::any_of(all.begin(), all.end(), [&](const Access& a) { return a.buffer == b; });
}

}  // namespace

DeviceEpilogue device_epilogue(const Nest& nest, const Reduction& r, std::span<const Stmt> nests,
                               const std::vector<Buffer>& temporaries) {
  DeviceEpilogue out;
  const bool temporary =
      std::find(temporaries.begin(), temporaries.end(), r.target) != temporaries.end();
  if (temporary && nests.size() > 1) {
    if (auto next = as_epilogue(nest, r, nests[1])) out.bodies.push_back(*next);
  }
  const auto rest = nests.subspan(1 + out.bodies.size());
  out.keeps_target = !temporary || std::any_of(rest.begin(), rest.end(),
                                               [&](const Stmt& s) { return touches(s, r.target); });
  return out;
}

std::optional<Contraction> device_product(std::span<const Stmt> nests,
                                          const std::vector<Buffer>& temporaries) {
  const Nest nest = peel(nests[0]);
  const auto r = as_reduction(nest.body);
  if (!r) return std::nullopt;
  const auto roles = roles_of(nest, *r);
  if (!roles) return std::nullopt;
  Contraction out;
  out.summary = "tiles";
  DeviceEpilogue end = device_epilogue(nest, *r, nests, temporaries);
  out.replaced = 1 + end.bodies.size();
  out.nests = {Tiles(*roles, *r, std::move(end.bodies), end.keeps_target).build()};
  return out;
}

}  // namespace tessera::schedule
