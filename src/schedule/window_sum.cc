// SPDX-License-Identifier: Apache-2.0
#include "schedule/window_sum.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tir/compare.h"
#include "tir/walk.h"

namespace tessera::schedule {
namespace {

using tir::Expr;

// As measured on an H200: more results a thread, and fewer threads find room at a time.
constexpr std::int64_t kChannels[] = {4, 2, 1};
constexpr std::int64_t kTerms[] = {8, 4, 2, 1};
constexpr std::int64_t kMostPlaces = 8;
constexpr std::int64_t kMostOfShortWindows = 7;  // of one channel, which wait for memory
constexpr std::int64_t kShortWindow = 5;         // elements along the places
constexpr std::int64_t kMostValues = 100;        // in a thread's registers
constexpr std::int64_t kMostAlong = 16;          // elements of a window that are unrolled
constexpr double kAccessCost = 4;                // of an access to memory, in multiplications
constexpr std::int64_t kManyTerms = 128;         // of a sum: few threads would be long at it

bool take_image(const Expr& value, WindowSum& w) {
  const auto image = image_read(value);
  if (!image) return false;
  w.load = image->load;
  w.condition = image->condition;
  w.dtype = value.dtype();
  return true;
}

// The channel is the one loop that the weight moves with.
bool take_operands(WindowSum& w) {
  const auto* product = w.reduction.value.as<tir::Mul>();
  if (product == nullptr || w.reduction.step.as<tir::Add>() == nullptr) return false;
  for (const bool swapped : {false, true}) {
    const Expr& image = swapped ? product->b : product->a;
    const Expr& weight = swapped ? product->a : product->b;
    std::size_t moves_weight = 0, moves_image = 0;
    for (std::size_t i = 0; i < w.loops.size(); ++i) {
      if (tir::uses_var(weight, w.loops[i].var)) {
        ++moves_weight;
        w.channel = i;
      } else if (tir::uses_var(image, w.loops[i].var)) {
        ++moves_image;
      }
    }
    if (moves_weight != 1 || moves_image == 0 || w.loops[w.channel].size() < 1) continue;
    w.weight = weight;
    if (take_image(image, w)) return true;
  }
  return false;
}

tir::IndexForm offset_of(const WindowSum& w) {
  return offset_form(w.load->buffer, w.load->indices, {});
}

// Is the window one step further along, whatever the numbers, the same elements further on? Nothing
// is known of the variables: elements beyond the ends of both loops count, too.
bool overlaps(WindowSum& w, const Expr& place, const Expr& term) {
  const tir::IndexForm offset = offset_of(w);
  if (offset.hides(place) || offset.hides(term)) return false;
  const std::int64_t by_place = offset.coefficient(place), by_term = offset.coefficient(term);
  if (by_place <= 0 || by_term <= 0) return false;
  const std::int64_t common = std::gcd(by_place, by_term);
  const Expr image = w.image({}, {});
  const auto moved = [&](const Expr& var, std::int64_t by) {
    return tir::simplify_indices(tir::substitute(image, {{var.get(), var + by}}), {});
  };
  if (!tir::equal(moved(place, by_term / common), moved(term, by_place / common))) return false;
  w.slides = by_term == common;
  w.stride = by_place / common;
  return true;
}

// Threads beside each other are so along the innermost loop, which has the channels or else is left
// to them.
bool take_place(WindowSum& w) {
  const bool channels_last = w.channel + 1 == w.loops.size();
  for (std::size_t i = w.loops.size() - (channels_last ? 0 : 1); i-- > 0;) {
    const Loop& l = w.loops[i];
    if (i == w.channel || l.size() < 1 || tir::uses_var(w.weight, l.var)) continue;
    for (std::size_t k = 0; k < w.reduction.loops.size(); ++k) {
      if (!overlaps(w, l.var, w.reduction.loops[k].var)) continue;
      w.place = i;
      w.along = k;
      const std::int64_t size = w.reduction.loops[k].size();
      w.slides = w.slides && size >= w.stride && size <= kMostAlong;
      return true;
    }
  }
  return false;
}

// Can a thread take so many channels? Either they see one image, or each its own, side by side.
std::optional<bool> channels_are_own(const WindowSum& w, std::int64_t count) {
  const Loop& channel = w.loops[w.channel];
  if (channel.size() % count != 0) return std::nullopt;
  if (count == 1) return false;
  const Expr block = tir::make_var("block"), v = tir::make_var("v");
  tir::Bounds bounds;
  bounds.set_loop(block, 0, channel.size() / count);
  bounds.set_loop(v, 0, count);
  const tir::VarMap values{{channel.var.get(), block * count + v}};
  const Expr image = tir::simplify_indices(w.image(values, {}), bounds);
  if (!tir::uses_var(image, v)) return false;
  if (w.condition && tir::uses_var(tir::substitute(w.condition, values), v)) return std::nullopt;
  const tir::IndexForm offset = offset_of(w);
  if (offset.hides(channel.var) || offset.coefficient(channel.var) != 1) return std::nullopt;
  return true;
}

void take_run(WindowSum& w) {
  const tir::IndexForm offset = offset_of(w);
  for (std::size_t k = 0; k < w.reduction.loops.size(); ++k) {
    const Expr& var = w.reduction.loops[k].var;
    const bool conditional = w.condition && tir::uses_var(w.condition, var);
    if (k == w.along || conditional || offset.hides(var) || offset.coefficient(var) != 1) continue;
    w.run = k;
  }
}

double known_count(const std::vector<Loop>& loops) {
  double count = 1;
  for (const Loop& l : loops) count *= static_cast<double>(l.size() < 0 ? 256 : l.size());
  return count;
}

// Registers that the thread's values take. The image stays as it is in memory until it is used.
std::int64_t values_of(const WindowSum& w) {
  const std::int64_t deep = w.own_channels ? w.channels : w.terms;
  const std::int64_t image = w.width() * deep * w.load->dtype.size_bytes() / 4;
  return w.places * w.channels + image + w.channels;
}

// Of all results together, in multiplications.
double cost_of(const WindowSum& w, std::int64_t wanted) {
  const auto n = [](std::int64_t x) { return static_cast<double>(x); };
  const double deep = n(w.own_channels ? w.channels : w.terms);
  const double steps = n(w.slides ? w.reduction.loops[w.along].size() : 1) * n(w.terms);
  const double results = n(w.places) * n(w.channels);
  const double work =
      results * steps + n(w.width()) * (kAccessCost + deep) + steps * (kAccessCost + n(w.channels));
  const std::int64_t extent = w.loops[w.place].size();
  const double whole = std::ceil(n(extent) / n(w.places)) * n(w.places) / n(extent);
  const double threads = known_count(w.loops) * whole / results;
  return std::max(threads, n(wanted)) * work / steps;
}

// How many results a thread makes.
bool choose_sizes(WindowSum& w, std::int64_t wanted) {
  WindowSum best = w;
  double least = INFINITY;
  const std::int64_t extent = w.loops[w.place].size();
  for (const std::int64_t channels : kChannels) {
    const auto own = channels_are_own(w, channels);
    if (!own) continue;
    for (const std::int64_t terms : kTerms) {
      if (terms > 1 && (*own || !w.run || w.reduction.loops[*w.run].size() % terms != 0)) continue;
      w.own_channels = *own;
      w.channels = channels;
      w.terms = terms;
      const bool is_short = *own && w.reduction.loops[w.along].size() <= kShortWindow;
      const std::int64_t most = std::min(is_short ? kMostOfShortWindows : kMostPlaces, extent);
      for (w.places = 1; w.places <= most; ++w.places) {
        if (values_of(w) > kMostValues) continue;
        if (const double cost = cost_of(w, wanted); cost < least) {
          least = cost;
          best = w;
        }
      }
    }
  }
  w = std::move(best);
  const double threads = known_count(w.loops) / static_cast<double>(w.places * w.channels);
  const std::int64_t eighth = wanted / 8;
  const bool few = threads < static_cast<double>(eighth);
  return least < INFINITY && !(few && known_count(w.reduction.loops) >= kManyTerms);
}

}  // namespace

std::optional<ImageRead> image_read(const Expr& value) {
  const auto* cast = value.as<tir::Cast>();
  const Expr& inner = cast != nullptr ? cast->value : value;
  const auto* choice = inner.as<tir::Select>();
  const auto* load = (choice != nullptr ? choice->yes : inner).as<tir::Load>();
  if (load == nullptr) return std::nullopt;
  if (choice == nullptr) return ImageRead{load, {}};
  const auto* zero = choice->no.as<tir::FloatImm>();
  const bool is_zero = tir::is_int(choice->no, 0) ||
                       (zero != nullptr && zero->value == 0 && !std::signbit(zero->value));
  if (!is_zero || !loads(choice->condition, {}).empty()) return std::nullopt;
  return ImageRead{load, choice->condition};
}

std::int64_t WindowSum::width() const {
  return slides ? (places - 1) * stride + reduction.loops[along].size() : places;
}

Expr WindowSum::image(const tir::VarMap& values, const Expr& also_if) const {
  Expr value = tir::load(load->buffer, load->indices);
  Expr inside = also_if;
  if (condition) inside = inside ? tir::logical_and(inside, condition) : condition;
  if (inside) value = tir::select(inside, value, tir::imm(0, value.dtype()));
  return tir::substitute(tir::cast(value, dtype), values);
}

std::optional<WindowSum> recognise_window_sum(const Nest& nest, std::int64_t threads) {
  auto sum = as_element_sum(nest);
  if (!sum || sum->loops.empty()) return std::nullopt;
  WindowSum w(std::move(*sum));
  if (!take_operands(w) || !take_place(w)) return std::nullopt;
  take_run(w);
  if (!choose_sizes(w, threads)) return std::nullopt;
  return w;
}

}  // namespace tessera::schedule
