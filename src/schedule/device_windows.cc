// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "schedule/device.h"
#include "schedule/window_sum.h"
#include "tir/device_loops.h"
#include "tir/walk.h"

namespace tessera::schedule {
namespace {

using tir::Buffer;
using tir::Expr;
using tir::ForKind;
using tir::Stmt;

Stmt loop(const Expr& var, std::int64_t extent, ForKind kind, const Stmt& body) {
  return tir::For::make(var, Expr(0), Expr(extent), kind, body);
}

Buffer in_registers(const std::string& name, DType dtype, std::vector<Expr> shape) {
  return tir::make_buffer(name, dtype, std::move(shape), tir::MemoryScope::kStack);
}

// Values instead of stores, and the stores.
struct StoresLater final : tir::Mutator {
  StoresLater(std::vector<Expr> at, std::vector<Expr> shape)
      : at(std::move(at)), shape(std::move(shape)) {}
  using Mutator::mutate;
  Stmt mutate(const Stmt& s) override {
    const auto* store = s.as<tir::Store>();
    if (store == nullptr) return Mutator::mutate(s);
    const Buffer& b = store->buffer;
    values.push_back(in_registers(b->name + "_values", b->dtype, shape));
    stores.push_back(tir::Store::make(b, store->indices, tir::load(values.back(), at)));
    return tir::Store::make(values.back(), at, store->value);
  }

  const std::vector<Expr> at, shape;
  std::vector<Buffer> values;
  std::vector<Stmt> stores;
};

// A thread for a block of neighbouring places and channels. It reads the image's elements of a row
// once, into registers, and the weights of all its channels by one access.
class WindowThread {
 public:
  explicit WindowThread(const WindowSum& w)
      : w_(w),
        sums_(in_registers(w.reduction.target->name + "_sums", w.reduction.target->dtype,
                           {Expr(w.places), Expr(w.channels)})),
        row_(in_registers("row", w.dtype, {Expr(w.width()), Expr(depth())})),
        weights_(in_registers("weights", w.weight.dtype(), {Expr(w.channels)})) {
    grid_ = w.loops;
    Loop &place = grid_[w.place], &channel = grid_[w.channel];
    place = {tir::make_var("places"), (place.size() + w.places - 1) / w.places};
    channel = {tir::make_var("channels"), channel.size() / w.channels};
    place0_ = place.var * w.places;
    channel0_ = channel.var * w.channels;
  }

  Stmt build() const {
    const Stmt start = over_results([&](const std::vector<Expr>& at) {
      return tir::Store::make(sums_, at, w_.reduction.identity);
    });
    Stmt body = tir::Allocate::make(sums_, tir::seq({start, terms(), finish()}));
    const Expr thread = tir::make_var("thread");
    const tir::VarMap here = places_of(thread);
    // Groups are quotients of channels, whose ranges are seen where both are one expression.
    const Expr& channels = grid_[w_.channel].var;
    body = tir::substitute(body, {{channels.get(), here.at(channels.get())}});
    for (const Loop& l : grid_) {
      if (!l.var.same_as(channels)) body = tir::LetStmt::make(l.var, here.at(l.var.get()), body);
    }
    return tir::For::make(thread, Expr(0), iterations(grid_), ForKind::kGrid, body);
  }

 private:
  std::int64_t depth() const { return w_.own_channels ? w_.channels : w_.terms; }
  const Expr& var_of(std::size_t reduction_loop) const {
    return w_.reduction.loops[reduction_loop].var;
  }
  bool is_whole() const { return w_.loops[w_.place].size() % w_.places == 0; }

  // Where a cache would not hold the weights of all channels, the warps of a block have the same
  // few channels and other places.
  tir::VarMap places_of(const Expr& thread) const {
    std::vector<Loop> order = grid_;
    const Loop channel = grid_[w_.channel];
    const std::int64_t lanes = lanes_of(channel.size());
    const bool is_known = tir::as_int(iterations(grid_)) != nullptr;  // else it is a long division
    if (!is_known || w_.channel + 1 < grid_.size() || lanes == channel.size() || fit_in_cache()) {
      return iteration(grid_, thread);
    }
    const Loop part{tir::make_var("part"), channel.size() / lanes};
    const Loop lane{tir::make_var("lane"), Expr(lanes)};
    order.back() = lane;
    order.insert(order.begin(), part);
    tir::VarMap here = iteration(order, thread);
    here[channel.var.get()] = here.at(part.var.get()) * lanes + here.at(lane.var.get());
    return here;
  }
  bool fit_in_cache() const {
    const std::int64_t cache_bytes = w_.own_channels ? 48 << 10 : 32 << 10;  // beside the image's
    const Expr terms = iterations(w_.reduction.loops);
    const std::int64_t elements = *tir::as_int(terms) * w_.loops[w_.channel].size();
    std::int64_t bytes = 1;
    for (const Access& a : loads(w_.weight, {})) bytes = a.buffer->dtype.size_bytes();
    return elements * bytes <= cache_bytes;
  }
  static std::int64_t lanes_of(std::int64_t channels) {
    constexpr std::int64_t kFewest = 8;
    for (std::int64_t lanes = tir::kWarpThreads; lanes >= kFewest; --lanes) {
      if (channels % lanes == 0) return lanes;
    }
    return channels;
  }

  template <class F>
  Stmt over_results(const F& body) const {
    const Expr p = tir::make_var("p"), v = tir::make_var("v");
    return loop(p, w_.places, ForKind::kUnrolled,
                loop(v, w_.channels, ForKind::kUnrolled, body({p, v})));
  }

  // Rows of the window one after another, and of each so many terms of the run.
  Stmt terms() const {
    Stmt body = tir::Allocate::make(row_, tir::seq({fill(), multiply()}));
    for (std::size_t k = w_.reduction.loops.size(); k-- > 0;) {
      const Loop& l = w_.reduction.loops[k];
      if (w_.slides && k == w_.along) continue;
      if (k == w_.run) {
        body = tir::For::make(run_, Expr(0), Expr(l.size() / w_.terms), ForKind::kSerial, body);
      } else {
        body = tir::For::make(l.var, Expr(0), l.extent, ForKind::kSerial, body);
      }
    }
    return body;
  }

  void set_run(tir::VarMap& at, const Expr& term) const {
    if (w_.run) at[var_of(*w_.run).get()] = run_ * w_.terms + term;
  }

  Stmt fill() const {
    const Expr u = tir::make_var("u"), i = tir::make_var("i");
    const Loop& place = w_.loops[w_.place];
    tir::VarMap at{{place.var.get(), w_.slides ? place0_ : place0_ + u},
                   {w_.loops[w_.channel].var.get(), w_.own_channels ? channel0_ + i : channel0_}};
    if (w_.slides) at[var_of(w_.along).get()] = u;
    set_run(at, w_.own_channels ? Expr(0) : i);
    Expr inside;
    if (!is_whole() && w_.slides) {
      const std::int64_t last =
          (place.size() - 1) * w_.stride + w_.reduction.loops[w_.along].size();
      inside = tir::lt(place0_ * w_.stride + u, Expr(last));
    } else if (!is_whole()) {
      inside = tir::lt(place0_ + u, place.extent);
    }
    const Stmt store = tir::Store::make(row_, std::vector<Expr>{u, i}, w_.image(at, inside));
    return loop(u, w_.width(), ForKind::kUnrolled, loop(i, depth(), ForKind::kVectorized, store));
  }

  Stmt multiply() const {
    const Expr k = tir::make_var("k"), i = tir::make_var("i"), c = tir::make_var("c");
    tir::VarMap at{{w_.loops[w_.channel].var.get(), channel0_ + c}};
    if (w_.slides) at[var_of(w_.along).get()] = k;
    set_run(at, i);
    const Stmt load =
        loop(c, w_.channels, ForKind::kVectorized,
             tir::Store::make(weights_, std::vector<Expr>{c}, tir::substitute(w_.weight, at)));
    const Stmt add = over_results([&](const std::vector<Expr>& sum) {
      const Expr &p = sum[0], &v = sum[1];
      const Expr place = w_.slides ? p * w_.stride + k : p;
      const Expr product =
          tir::load(row_, {place, w_.own_channels ? v : i}) * tir::load(weights_, {v});
      return tir::Store::make(sums_, sum, tir::load(sums_, sum) + product);
    });
    const Stmt body = tir::Allocate::make(weights_, tir::seq({load, add}));
    const std::int64_t steps = w_.slides ? w_.reduction.loops[w_.along].size() : 1;
    return loop(k, steps, ForKind::kUnrolled, loop(i, w_.terms, ForKind::kUnrolled, body));
  }

  // What is read after the sum is under way for all places before the first of them is stored.
  Stmt finish() const {
    const std::vector<Expr> at = {tir::make_var("p"), tir::make_var("v")};
    const Stmt all = w_.results(sums_, at);
    if (w_.places == 1 || !can_wait(all)) return over_places(at, all);
    StoresLater later(at, sums_->shape);
    const Stmt values = later.mutate(all);
    Stmt body = tir::seq({over_places(at, values), over_places(at, tir::seq(later.stores))});
    for (const Buffer& b : later.values) body = tir::Allocate::make(b, body);
    return tir::with_fresh_definitions(body);
  }

  // Is more read than the sum, nothing of it stored, and is it known where to before values are?
  bool can_wait(const Stmt& s) const {
    const std::vector<Access> all = accesses(s);
    const auto reads_more = [&](const Access& a) { return !a.is_store && a.buffer != sums_; };
    if (std::none_of(all.begin(), all.end(), reads_more)) return false;
    std::vector<Expr> lets;
    tir::for_each_node(s, [&](const Stmt& part) {
      if (const auto* let = part.as<tir::LetStmt>()) lets.push_back(let->var);
    });
    return std::all_of(all.begin(), all.end(), [&](const Access& store) {
      const auto is_read = [&](const Access& a) { return !a.is_store && a.buffer == store.buffer; };
      const auto in_index = [&](const Expr& let) {
        return std::any_of(store.indices.begin(), store.indices.end(),
                           [&](const Expr& e) { return tir::uses_var(e, let); });
      };
      return !store.is_store || (std::none_of(all.begin(), all.end(), is_read) &&
                                 std::none_of(lets.begin(), lets.end(), in_index));
    });
  }

  Stmt over_places(const std::vector<Expr>& at, const Stmt& stores) const {
    const Loop& place = w_.loops[w_.place];
    const tir::VarMap here{{place.var.get(), place0_ + at[0]},
                           {w_.loops[w_.channel].var.get(), channel0_ + at[1]}};
    Stmt body = loop(at[1], w_.channels, ForKind::kVectorized, tir::substitute(stores, here));
    if (!is_whole()) {
      body = tir::IfThenElse::make(tir::lt(place0_ + at[0], place.extent), body, Stmt());
    }
    return loop(at[0], w_.places, ForKind::kUnrolled, body);
  }

  const WindowSum& w_;
  Buffer sums_, row_, weights_;
  std::vector<Loop> grid_;
  Expr place0_, channel0_;
  const Expr run_ = tir::make_var("run");
};

}  // namespace

std::optional<Stmt> device_windows(const Nest& nest, const Device& device) {
  const auto w = recognise_window_sum(nest, device.threads);
  return w ? std::optional(WindowThread(*w).build()) : std::nullopt;
}

}  // namespace tessera::schedule
