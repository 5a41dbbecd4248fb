// SPDX-License-Identifier: Apache-2.0
#include "schedule/device.h"

#include <algorithm>

#include "schedule/accumulator.h"
#include "schedule/borders.h"
#include "schedule/kernel_scheduler.h"
#include "schedule/primitives.h"
#include "schedule/rows.h"
#include "tir/conditions.h"
#include "tir/simplify.h"

namespace tessera::schedule {
namespace {

using tir::Buffer;
using tir::Expr;
using tir::ForKind;
using tir::Stmt;

Stmt a_thread_each(const Nest& nest) {
  const Expr i = tir::make_var("element");
  return tir::For::make(i, Expr(0), iterations(nest.loops), ForKind::kGrid,
                        tir::substitute(nest.body, iteration(nest.loops, i)));
}

// Neighbouring threads would read the terms of neighbouring elements side by side, or the same
// ones.
bool reads_side_by_side(const Nest& nest, const Reduction& r) {
  constexpr std::int64_t kMostStride = 2;  // of a window that moves by two
  std::vector<Loop> all = nest.loops;
  all.insert(all.end(), r.loops.begin(), r.loops.end());
  const std::vector<Access> read = accesses(r.update, bounds_of(all));
  return !nest.loops.empty() && std::all_of(read.begin(), read.end(), [&](const Access& a) {
    const std::int64_t stride = a.offset.coefficient(nest.loops.back().var);
    return a.is_store || a.buffer == r.target || (stride >= 0 && stride <= kMostStride);
  });
}

// One reduction of few terms, as a depthwise convolution's, and what is made of it: a warp for each
// row would be mostly idle.
bool is_short_row(const Nest& nest) {
  constexpr std::int64_t kMostTerms = 64;
  Stmt body = nest.body;
  while (const auto* a = body.as<tir::Allocate>()) body = Stmt(a->body);
  const std::vector<Stmt> all = parts(body);
  bool found = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!has_loop(all[i])) continue;
    const auto r = i == 0 ? std::nullopt : as_reduction(tir::seq({all[i - 1], all[i]}));
    if (found || !r) return false;
    std::int64_t terms = 1;
    for (const Loop& l : r->loops) terms *= l.size() < 0 ? kMostTerms : l.size();
    if (terms >= kMostTerms || !reads_side_by_side(nest, *r)) return false;
    found = true;
  }
  return found;
}

class DeviceScheduler final : public KernelScheduler {
 public:
  DeviceScheduler(const Stmt& body, const Device& device, const std::vector<Buffer>& constants)
      : KernelScheduler(body), device_(device), constants_(constants) {
    join_reductions();
  }

 private:
  std::optional<Contraction> product(std::span<const Stmt> nests) override {
    if (device_.multiplies_fragments) {
      if (auto few = device_few_rows(nests, in_.temporaries)) return few;
    }
    if (auto winograd = device_winograd(nests, {in_.temporaries, constants_}, device_)) {
      read_through_border(winograd->nests.front());
      return winograd;
    }
    return device_product(nests, in_.temporaries);
  }

  // A launch that alone reads an image with a border reads the image itself: then nobody writes
  // the border.
  void read_through_border(Stmt& launch) {
    for (const Stmt& border : in_.nests) {
      const auto both = read_through_borders({border, launch}, in_.nests, in_.temporaries);
      if (both.size() != 1) continue;
      launch = both.front();
      unread_.push_back(border);
      return;
    }
  }

  // A reduction to one element has no loop around it: its start and its loop stand side by side.
  void join_reductions() {
    std::vector<Stmt> nests;
    for (const Stmt& s : in_.nests) {
      const bool start = !nests.empty() && nests.back().as<tir::Store>() != nullptr;
      const Stmt both = start ? tir::seq({nests.back(), s}) : Stmt();
      if (start && s.as<tir::For>() != nullptr && as_reduction(both)) {
        nests.back() = both;
      } else {
        nests.push_back(s);
      }
    }
    in_.nests = std::move(nests);
  }

  // By rows, and where that cannot be, nest by nest.
  void schedule_plain(const std::vector<Stmt>& all) override {
    std::vector<Stmt> plain = all;
    std::erase_if(plain, [&](const Stmt& s) {
      return std::ranges::any_of(unread_, [&](const Stmt& u) { return u.same_as(s); });
    });
    if (plain.empty()) return;
    if (tir::has_condition(tir::seq(plain))) {
      for (const Stmt& nest : plain) out_.nests.push_back(with_condition(nest));
      return;
    }
    const std::vector<Stmt> nests = read_through_borders(plain, in_.nests, in_.temporaries);
    const Kernel rows = fuse_rows({{}, out_.temporaries, nests}, in_.nests, false);
    std::vector<Stmt> launches;
    for (const Stmt& nest : rows.nests) {
      auto launch = schedule(nest);
      if (!launch) break;
      launches.push_back(std::move(*launch));
    }
    if (launches.size() == rows.nests.size()) {
      out_.temporaries = rows.temporaries;
      if (rows.nests.size() < nests.size()) note("rows");
    } else {
      launches.clear();
      for (const Stmt& nest : nests) {
        // Neither a map nor a reduction, nor rows: a product of ones is a loop over nothing.
        auto launch = schedule(nest);
        launches.push_back(launch ? std::move(*launch) : a_thread_each(peel(nest)));
      }
    }
    out_.nests.insert(out_.nests.end(), launches.begin(), launches.end());
  }

  // The launcher looks at sizes, a thread at what is in memory.
  static Stmt with_condition(const Stmt& s) {
    const auto* condition = s.as<tir::Require>();
    if (condition != nullptr && tir::reads_no_memory(*condition)) return s;
    return a_thread_each(peel(s));
  }

  std::optional<Stmt> schedule(const Stmt& s) const {
    Nest nest = peel(s);
    if (auto grouped = device_grouped(nest, device_)) return grouped;
    if (auto windows = device_windows(nest, device_)) return windows;
    if (auto columns = device_columns(nest, device_)) return columns;
    if (const auto reduction = as_reduction(nest.body)) {
      if (runs_along_memory(nest, *reduction)) {
        if (auto rows = device_rows(s)) return rows;
      }
      return device_reduction(nest, *reduction);
    }
    if (has_loop(nest.body) || nest.body.as<tir::Allocate>() != nullptr) {
      if (is_short_row(nest)) return a_thread_each(nest);
      return device_rows(s);
    }
    return device_map(std::move(nest));
  }

  const Device& device_;
  const std::vector<Buffer>& constants_;
  std::vector<Stmt> unread_;  // what launches have read through
};

}  // namespace

Expr iterations(const std::vector<Loop>& loops) {
  Expr total = 1;
  for (const Loop& l : loops) total = total * l.extent;
  return total;
}

tir::VarMap iteration(const std::vector<Loop>& loops, const Expr& number) {
  tir::VarMap values;
  Expr inner = 1;
  for (std::size_t i = loops.size(); i-- > 0;) {
    Expr value = tir::is_int(inner, 1) ? number : tir::floor_div(number, inner);
    if (i != 0) value = tir::floor_mod(value, loops[i].extent);
    values[loops[i].var.get()] = value;
    inner = inner * loops[i].extent;
  }
  return values;
}

Stmt device_reduction(const Nest& nest, const Reduction& r) {
  const Buffer acc =
      tir::make_buffer(r.target->name + "_acc", r.target->dtype, {}, tir::MemoryScope::kStack);
  ToAccumulator to(r.target, acc, {});
  const std::vector<Expr> none;
  const Stmt body = tir::Allocate::make(
      acc, tir::seq({tir::Store::make(acc, none, r.identity), wrap(r.loops, to.mutate(r.update)),
                     tir::Store::make(r.target, r.indices, tir::load(acc, {}))}));
  return a_thread_each({nest.loops, body});
}

tir::PrimFunc schedule_device_kernel(tir::PrimFunc f, const Device& device) {
  return schedule_device_kernel(std::move(f), device, {}).kernel;
}

ScheduledKernel schedule_device_kernel(tir::PrimFunc f, const Device& device,
                                       const std::vector<Buffer>& constants) {
  DeviceScheduler scheduler(f.body, device, constants);
  f.body = scheduler.run();
  if (!scheduler.summary().empty()) f.attrs["schedule"] = scheduler.summary();
  scheduler.change_inputs(f);
  return {place_barriers(tir::simplify(f)), scheduler.made()};
}

}  // namespace tessera::schedule
