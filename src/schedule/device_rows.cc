// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "lower/views.h"
#include "schedule/accumulator.h"
#include "schedule/device.h"
#include "schedule/primitives.h"
#include "tir/compare.h"
#include "tir/device_loops.h"

namespace tessera::schedule {
namespace {

using tir::Buffer;
using tir::BufferNode;
using tir::Expr;
using tir::ForKind;
using tir::Stmt;

constexpr std::int64_t kVectorBytes = 16;
constexpr std::int64_t kMinTerms = 64;      // for a reduction to have threads of its own
constexpr std::int64_t kMaxOfWarp = 1024;   // elements of a row that a warp holds
constexpr std::int64_t kManyRows = 1024;    // so many warps fill the device
constexpr std::int64_t kMaxPerThread = 64;  // values in registers, of all row buffers together
constexpr std::int64_t kMaxSharedBytes = 40 << 10;

// One statement of a row: a loop over its elements, or (without one) a scalar's store.
struct Member {
  std::optional<Loop> loop;
  Stmt body;
};

class RowTeam {
 public:
  explicit RowTeam(const Stmt& s) {
    Nest nest = collapse_all(peel(s));
    common_ = nest.loops;
    Stmt body = nest.body;
    while (const auto* a = body.as<tir::Allocate>()) {
      rows_.push_back(a->buffer);
      body = Stmt(a->body);
    }
    parts_ = parts(body);
  }

  std::optional<Stmt> build() {
    if (common_.empty() && parts_.size() == 1) return std::nullopt;
    for (const Loop& l : common_) bounds_.set_loop(l.var, 0, l.extent);
    if (!take_members() || !flatten_rows()) return std::nullopt;
    choose_width();
    choose_team();
    keep_inputs();
    place_rows();
    if (!fits_) return std::nullopt;
    return assemble();
  }

 private:
  // Reductions and maps, each one loop.
  bool take_members() {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (i + 1 < parts_.size()) {
        if (auto r = as_reduction(tir::seq({parts_[i], parts_[i + 1]})); r && !r->loops.empty()) {
          if (!add_reduction(*r)) return false;
          ++i;
          continue;
        }
      }
      Nest nest = peel(parts_[i]);
      if (!is_plain(nest.body)) return false;
      if (nest.loops.empty()) {
        members_.push_back({std::nullopt, nest.body});
      } else {
        const Nest one = one_loop(nest);
        if (!check_independent(one.loops[0].var, one.body, bounds_)) return false;
        members_.push_back({one.loops[0], one.body});
      }
    }
    return std::any_of(members_.begin(), members_.end(),
                       [](const Member& m) { return m.loop.has_value(); });
  }

  static bool is_plain(const Stmt& s) {
    bool plain = true;
    tir::for_each_node(s, [&](const Stmt& part) {
      plain &= part.as<tir::Store>() != nullptr || part.as<tir::LetStmt>() != nullptr;
    });
    return plain;
  }

  Nest one_loop(const Nest& nest) const {
    const Nest joined = collapse_all(nest, bounds_);
    if (joined.loops.size() == 1) return joined;
    const Loop whole{tir::make_var("j"), iterations(joined.loops)};
    return {{whole}, tir::substitute(joined.body, iteration(joined.loops, whole.var))};
  }

  // Into a scalar of the team, from where it goes to memory.
  bool add_reduction(const Reduction& r) {
    if (!is_plain(r.update)) return false;
    Buffer acc = r.target;
    const bool is_scalar = acc->scope == tir::MemoryScope::kStack && tir::constant_size(acc) == 1;
    if (!is_scalar) {
      acc = tir::make_buffer(acc->name + "_acc", acc->dtype, {}, tir::MemoryScope::kStack);
      rows_.push_back(acc);
    }
    const std::vector<Expr> at = is_scalar ? r.indices : std::vector<Expr>{};
    ToAccumulator to(r.target, acc, at);
    const Nest one = one_loop({r.loops, to.mutate(r.update)});
    members_.push_back({std::nullopt, tir::Store::make(acc, at, r.identity)});
    members_.push_back({one.loops[0], one.body});
    if (!is_scalar) {
      members_.push_back({std::nullopt, tir::Store::make(r.target, r.indices, tir::load(acc, at))});
    }
    return true;
  }

  tir::Bounds bounds_in(const Member& m) const {
    tir::Bounds inside = bounds_;
    if (m.loop) inside.set_loop(m.loop->var, 0, m.loop->extent);
    return inside;
  }

  // Row buffers with one dimension, indexed by the loop's variable where that is what their indices
  // come to.
  bool flatten_rows() {
    std::map<const BufferNode*, Buffer> flat;
    for (Buffer& b : rows_) {
      const std::int64_t size = tir::constant_size(b);
      if (size < 0) return false;
      if (size == 1) continue;
      const Buffer row = tir::make_buffer(b->name, b->dtype, {Expr(size)}, b->scope);
      flat[b.get()] = row;
      b = row;
    }
    for (Member& m : members_) m.body = Flattener(flat, bounds_in(m)).mutate(m.body);
    return true;
  }

  class Flattener : public tir::Mutator {
   public:
    Flattener(const std::map<const BufferNode*, Buffer>& flat, tir::Bounds bounds)
        : flat_(flat), bounds_of_row_(std::move(bounds)) {}
    using Mutator::mutate;
    Expr mutate(const Expr& e) override {
      const auto* l = e.as<tir::Load>();
      if (l == nullptr || !flat_.contains(l->buffer.get())) return Mutator::mutate(e);
      return tir::load(flat_.at(l->buffer.get()), {place(l->buffer, l->indices)});
    }
    Stmt mutate(const Stmt& s) override {
      const auto* t = s.as<tir::Store>();
      if (t == nullptr || !flat_.contains(t->buffer.get())) return Mutator::mutate(s);
      return tir::Store::make(flat_.at(t->buffer.get()),
                              std::vector<Expr>{place(t->buffer, t->indices)}, mutate(t->value));
    }

   private:
    Expr place(const Buffer& b, const std::vector<Expr>& indices) {
      std::vector<Expr> inner;
      for (const Expr& e : indices) inner.push_back(mutate(e));
      return tir::simplify_indices(lower::flat_offset(b, inner), bounds_of_row_);
    }
    const std::map<const BufferNode*, Buffer>& flat_;
    tir::Bounds bounds_of_row_;
  };

  // Elements that a thread takes at a time: a vector access, if all rows divide by it and it leaves
  // work for a warp.
  void choose_width() {
    std::int64_t bytes = 2;
    longest_ = 0;
    for (const Member& m : members_) {
      if (!m.loop) continue;
      longest_ = std::max(longest_, m.loop->size());
      for (const Access& a : accesses(m.body, bounds_in(m))) {
        if (a.buffer->scope == tir::MemoryScope::kStack) continue;
        if (a.offset.coefficient(m.loop->var) != 1) continue;
        bytes = std::max<std::int64_t>(bytes, a.buffer->dtype.size_bytes());
      }
    }
    width_ = kVectorBytes / bytes;
    const auto divides = [&](std::int64_t width) {
      return std::all_of(members_.begin(), members_.end(), [&](const Member& m) {
        return !m.loop || (m.loop->size() > 0 && m.loop->size() % width == 0);
      });
    };
    while (width_ > 1 && (!divides(width_) || longest_ / width_ < tir::kWarpThreads)) width_ /= 2;
  }

  void choose_team() {
    const Expr count = iterations(common_);
    const std::int64_t* rows = tir::as_int(count);
    const bool sized = std::all_of(members_.begin(), members_.end(),
                                   [](const Member& m) { return !m.loop || m.loop->size() > 0; });
    const bool many = rows != nullptr && *rows >= kManyRows;
    warps_ = sized && longest_ <= kMaxOfWarp && (many || longest_ <= 2 * tir::kWarpThreads);
    const std::int64_t threads =
        (longest_ / width_ + tir::kWarpThreads - 1) / tir::kWarpThreads * tir::kWarpThreads;
    team_ = warps_ ? tir::kWarpThreads
                   : std::clamp<std::int64_t>(threads, tir::kWarpThreads, tir::kMaxTeamThreads);
  }

  std::int64_t per_thread(const Buffer& b) const {
    return tir::thread_trips(tir::constant_size(b) / width_, static_cast<int>(team_)) * width_;
  }
  bool is_row(const Buffer& b) const { return tir::constant_size(b) != 1; }

  // Is each element of the row used by the thread alone that has its number?
  bool is_held(const Buffer& b) const {
    for (const Member& m : members_) {
      for (const Access& a : accesses(m.body)) {
        if (a.buffer != b) continue;
        if (!m.loop || m.loop->size() != tir::constant_size(b)) return false;
        if (!a.indices[0].same_as(m.loop->var)) return false;
      }
    }
    return true;
  }

  // What several loops read from the same places of memory is read once; what all rows read alike
  // comes from a cache anyhow.
  void keep_inputs() {
    std::set<const BufferNode*> written;
    for (const Member& m : members_) {
      for (const Access& a : accesses(m.body)) {
        if (a.is_store) written.insert(a.buffer.get());
      }
    }
    struct Kept {
      Expr load;  // in terms of `var`
      int uses = 0;
      Buffer row;
    };
    const Expr var = tir::make_var("j");
    std::vector<Kept> kept;
    const auto find = [&](const Expr& load) {
      return std::find_if(kept.begin(), kept.end(),
                          [&](const Kept& k) { return tir::equal(k.load, load); });
    };
    for (const Member& m : members_) {
      if (!m.loop || m.loop->size() != longest_) continue;
      std::vector<Expr> here;
      for (const Expr& load : steady_loads(m, written)) {
        const Expr common = tir::substitute(load, {{m.loop->var.get(), var}});
        const auto seen = [&](const Expr& e) { return tir::equal(e, common); };
        if (std::any_of(here.begin(), here.end(), seen)) continue;
        here.push_back(common);
        if (const auto it = find(common); it != kept.end()) {
          ++it->uses;
        } else {
          kept.push_back({common, 1, {}});
        }
      }
    }
    std::int64_t held = 0;
    for (const Buffer& b : rows_) held += is_row(b) ? per_thread(b) : 0;
    std::vector<Member> first;
    for (Kept& k : kept) {
      if (k.uses < 2) continue;
      const auto* load = k.load.as<tir::Load>();
      const Buffer row = tir::make_buffer(load->buffer->name + "_row", load->dtype,
                                          {Expr(longest_)}, tir::MemoryScope::kStack);
      if (held + per_thread(row) > kMaxPerThread) continue;
      held += per_thread(row);
      k.row = row;
      rows_.push_back(row);
      const Expr own = tir::make_var("j");
      const Expr value = tir::substitute(k.load, {{var.get(), own}});
      first.push_back(
          {Loop{own, Expr(longest_)}, tir::Store::make(row, std::vector<Expr>{own}, value)});
    }
    for (Member& m : members_) {
      if (!m.loop || m.loop->size() != longest_) continue;
      for (const Kept& k : kept) {
        if (!k.row) continue;
        m.body = Replacer(tir::substitute(k.load, {{var.get(), m.loop->var}}),
                          tir::load(k.row, {m.loop->var}))
                     .mutate(m.body);
      }
    }
    members_.insert(members_.begin(), first.begin(), first.end());
  }

  class Replacer : public tir::Mutator {
   public:
    Replacer(Expr what, Expr by) : what_(std::move(what)), by_(std::move(by)) {}
    using Mutator::mutate;
    Expr mutate(const Expr& e) override { return tir::equal(e, what_) ? by_ : Mutator::mutate(e); }

   private:
    Expr what_, by_;
  };

  bool is_of_row(const Expr& e) const {
    return std::any_of(common_.begin(), common_.end(),
                       [&](const Loop& l) { return tir::uses_var(e, l.var); });
  }

  // Loads along memory that happen in every iteration, of what nothing here writes.
  std::vector<Expr> steady_loads(const Member& m,
                                 const std::set<const BufferNode*>& written) const {
    std::vector<Expr> out;
    const tir::Bounds inside = bounds_in(m);
    const auto visit = [&](auto& self, const Expr& e) -> void {
      if (e.as<tir::Select>() != nullptr || e.as<tir::And>() != nullptr ||
          e.as<tir::Or>() != nullptr) {
        return;
      }
      const auto* load = e.as<tir::Load>();
      if (load != nullptr && load->buffer->scope != tir::MemoryScope::kStack &&
          !written.contains(load->buffer.get()) && is_of_row(e) &&
          offset_form(load->buffer, load->indices, inside).coefficient(m.loop->var) == 1) {
        out.push_back(e);
      }
      tir::for_each_child(e, [&](const Expr& child) { self(self, child); });
    };
    tir::for_each_node(m.body, [&](const Stmt& s) {
      if (const auto* let = s.as<tir::LetStmt>()) visit(visit, let->value);
      if (const auto* store = s.as<tir::Store>()) visit(visit, store->value);
    });
    return out;
  }

  // Rows go to registers or to shared memory.
  void place_rows() {
    std::int64_t held = 0, shared = 0;
    for (Buffer& b : rows_) {
      if (!is_row(b)) continue;
      if (is_held(b) && held + per_thread(b) <= kMaxPerThread) {
        held += per_thread(b);
        continue;
      }
      const std::int64_t bytes =
          tir::constant_size(b) * std::max<std::int64_t>(4, b->dtype.size_bytes());
      shared += bytes;
      const Buffer common =
          tir::make_buffer(b->name, b->dtype, b->shape, tir::MemoryScope::kShared);
      for (Member& m : members_) m.body = tir::substitute(m.body, {}, {{b.get(), common}});
      b = common;
    }
    fits_ = shared <= kMaxSharedBytes && !(warps_ && shared > 0);
  }

  Stmt assemble() {
    std::vector<Stmt> body;
    tir::BufferMap split_rows;
    if (width_ > 1) {
      for (Buffer& b : rows_) {
        if (!is_row(b) || b->scope != tir::MemoryScope::kStack) continue;
        const Buffer cut = tir::make_buffer(
            b->name, b->dtype, {Expr(tir::constant_size(b) / width_), Expr(width_)}, b->scope);
        split_rows[b.get()] = cut;
        b = cut;
      }
    }
    for (const Member& m : members_) body.push_back(m.loop ? over_threads(m, split_rows) : m.body);
    Stmt whole = tir::seq(std::move(body));
    for (auto it = rows_.rbegin(); it != rows_.rend(); ++it) {
      whole = tir::Allocate::make(*it, whole);
    }
    const Expr row = tir::make_var("row");
    return tir::For::make(row, Expr(0), iterations(common_),
                          warps_ ? ForKind::kWarps : ForKind::kBlocks,
                          tir::substitute(whole, iteration(common_, row)));
  }

  Stmt over_threads(const Member& m, const tir::BufferMap& split_rows) const {
    if (width_ == 1) {
      return tir::For::make(m.loop->var, Expr(0), m.loop->extent, ForKind::kThreads, m.body);
    }
    const Expr j = tir::make_var("j"), v = tir::make_var("v");
    const Stmt cut = Splitter(split_rows, m.loop->var, j, v).mutate(m.body);
    const Stmt inner = tir::substitute(cut, {{m.loop->var.get(), j * width_ + v}});
    return tir::For::make(j, Expr(0), Expr(m.loop->size() / width_), ForKind::kThreads,
                          tir::For::make(v, Expr(0), Expr(width_), ForKind::kVectorized, inner));
  }

  // row[j] becomes row[j, v]: which vector, and which element of it.
  class Splitter : public tir::Mutator {
   public:
    Splitter(const tir::BufferMap& rows, Expr var, Expr j, Expr v)
        : rows_(rows), var_(std::move(var)), j_(std::move(j)), v_(std::move(v)) {}
    using Mutator::mutate;
    Expr mutate(const Expr& e) override {
      const auto* l = e.as<tir::Load>();
      if (l == nullptr || !rows_.contains(l->buffer.get())) return Mutator::mutate(e);
      return tir::load(rows_.at(l->buffer.get()), {j_, v_});
    }
    Stmt mutate(const Stmt& s) override {
      const auto* t = s.as<tir::Store>();
      if (t == nullptr || !rows_.contains(t->buffer.get())) return Mutator::mutate(s);
      return tir::Store::make(rows_.at(t->buffer.get()), std::vector<Expr>{j_, v_},
                              mutate(t->value));
    }

   private:
    const tir::BufferMap& rows_;
    Expr var_, j_, v_;
  };

  std::vector<Loop> common_;
  std::vector<Buffer> rows_;  // and scalars
  std::vector<Stmt> parts_;
  std::vector<Member> members_;
  tir::Bounds bounds_;
  std::int64_t longest_ = 0, width_ = 1, team_ = tir::kWarpThreads;
  bool warps_ = false, fits_ = true;
};

}  // namespace

std::optional<Stmt> device_rows(const Stmt& nest) { return RowTeam(nest).build(); }

bool runs_along_memory(const Nest& nest, const Reduction& r) {
  if (r.loops.empty()) return false;
  std::int64_t terms = 1;
  for (const Loop& l : r.loops) terms *= l.size() < 0 ? kMinTerms : l.size();
  if (terms < kMinTerms) return false;
  std::vector<Loop> all = nest.loops;
  all.insert(all.end(), r.loops.begin(), r.loops.end());
  const std::vector<Access> read = accesses(r.update, bounds_of(all));
  return std::any_of(read.begin(), read.end(), [&](const Access& a) {
    return !a.is_store && a.buffer != r.target && a.offset.coefficient(r.loops.back().var) == 1;
  });
}

}  // namespace tessera::schedule
