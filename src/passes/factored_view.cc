// SPDX-License-Identifier: Apache-2.0
#include "passes/factored_view.h"

#include <algorithm>
#include <numeric>

namespace tessera::passes {
namespace {

std::int64_t product(const Sizes& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

}  // namespace

Pieces joined(const Pieces& pieces) {
  Pieces out;
  for (const Piece& p : pieces) {
    if (p.extent == 1) continue;
    if (!out.empty() && out.back().stride == p.extent * p.stride) {
      out.back() = {out.back().extent * p.extent, p.stride};
    } else {
      out.push_back(p);
    }
  }
  return out;
}

std::int64_t extent_of(std::span<const Piece> pieces) {
  std::int64_t extent = 1;
  for (const Piece& p : pieces) extent *= p.extent;
  return extent;
}

Pieces in_order_of_memory(Pieces pieces) {
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const Piece& a, const Piece& b) { return a.stride > b.stride; });
  return pieces;
}

FactoredView FactoredView::of(const Sizes& sizes) {
  FactoredView view;
  std::int64_t stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    view.dims.push_back(joined({{sizes[i], stride}}));
    stride *= sizes[i];
  }
  std::reverse(view.dims.begin(), view.dims.end());
  return view;
}

FactoredView FactoredView::of(const Pieces& outer, const Pieces& last) {
  FactoredView view;
  for (const Piece& p : outer) view.dims.push_back({p});
  view.dims.push_back(last);
  return view;
}

Sizes FactoredView::sizes() const {
  Sizes out;
  for (const Pieces& d : dims) out.push_back(extent_of(d));
  return out;
}

Pieces FactoredView::pieces() const {
  Pieces all;
  for (const Pieces& d : dims) all.insert(all.end(), d.begin(), d.end());
  return joined(all);
}

FactoredView FactoredView::transpose(std::span<const std::int64_t> axes) const {
  FactoredView out{{}, offset};
  for (const std::int64_t a : axes) out.dims.push_back(dims[static_cast<std::size_t>(a)]);
  return out;
}

std::optional<FactoredView> FactoredView::reshape(const Sizes& sizes) const {
  Pieces left = pieces();
  FactoredView out{std::vector<Pieces>(sizes.size()), offset};
  for (std::size_t i = sizes.size(); i-- > 0;) {
    std::int64_t wanted = sizes[i];
    Pieces taken;  // the innermost first
    while (wanted > 1) {
      if (left.empty()) return std::nullopt;
      Piece& p = left.back();
      if (wanted % p.extent == 0) {
        wanted /= p.extent;
        taken.push_back(p);
        left.pop_back();
      } else if (p.extent % wanted == 0) {
        taken.push_back({wanted, p.stride});
        p = {p.extent / wanted, p.stride * wanted};
        wanted = 1;
      } else {
        return std::nullopt;
      }
    }
    std::reverse(taken.begin(), taken.end());
    out.dims[i] = joined(taken);
  }
  return left.empty() ? std::optional(out) : std::nullopt;
}

std::optional<FactoredView> FactoredView::slice(std::size_t axis, std::int64_t begin,
                                                std::int64_t extent) const {
  FactoredView out = *this;
  Pieces& d = out.dims[axis];
  if (begin == 0 && extent == extent_of(d)) return out;
  if (d.empty()) return std::nullopt;
  const std::int64_t inner = extent_of(std::span(d).subspan(1));
  if (begin % inner != 0 || extent % inner != 0) return std::nullopt;
  out.offset += begin / inner * d[0].stride;
  d[0].extent = extent / inner;
  d = joined(d);
  return out;
}

bool is_whole(const FactoredView& view, const Sizes& base) {
  const Pieces all = joined(in_order_of_memory(view.pieces()));
  const std::int64_t count = product(base);
  return view.offset == 0 && (count == 1 ? all.empty() : all == Pieces{{count, 1}});
}

std::optional<Slice> find_slice(const FactoredView& view, const Sizes& sizes,
                                FactoredView& of_slice) {
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    const std::int64_t inner =
        product({sizes.begin() + static_cast<std::ptrdiff_t>(axis) + 1, sizes.end()});
    const std::int64_t outer = inner * sizes[axis];  // the distance between the axis's copies
    std::int64_t inside = 1;
    for (const Piece& p : view.pieces()) inside *= p.stride < outer ? p.extent : 1;
    if (inside % inner != 0 || view.offset % inner != 0) continue;
    const Slice slice{axis, view.offset / inner, inside / inner};
    if (slice.begin + slice.extent > sizes[axis]) continue;
    Sizes left = sizes;
    left[axis] = slice.extent;
    of_slice = {view.dims, 0};
    for (Pieces& dim : of_slice.dims) {
      for (Piece& p : dim) {
        if (p.stride >= outer) p.stride = p.stride / outer * inside;
      }
      dim = joined(dim);
    }
    if (is_whole(of_slice, left)) return slice;
  }
  return std::nullopt;
}

Permuted permuted(const Sizes& base, const FactoredView& view) {
  Pieces parts;
  std::vector<std::size_t> ones, others;  // axes of the base, or of what is made of it
  for (const Pieces& d : view.dims) parts.insert(parts.end(), d.begin(), d.end());
  const Pieces in_memory = in_order_of_memory(parts);
  for (std::size_t i = 0; i < base.size(); ++i) (base[i] == 1 ? ones : others).push_back(i);
  bool fits = others.size() == parts.size();
  for (std::size_t i = 0; fits && i < parts.size(); ++i) {
    fits = base[others[i]] == in_memory[i].extent;
  }
  const bool one_each = std::all_of(view.dims.begin(), view.dims.end(),
                                    [](const Pieces& d) { return d.size() <= 1; });
  Permuted out{base, {}, {}};
  if (!fits) {  // as many as the view has, if they have places there
    ones.resize(one_each ? view.dims.size() - parts.size() : 0);
    others.resize(parts.size());
    std::iota(ones.begin(), ones.end(), 0);
    std::iota(others.begin(), others.end(), ones.size());
    out.before.assign(ones.size(), 1);
    for (const Piece& p : in_memory) out.before.push_back(p.extent);
  }
  const auto add = [&](std::size_t axis) {
    out.axes.push_back(static_cast<std::int64_t>(axis));
    out.after.push_back(out.before[axis]);
  };
  const bool in_place = one_each && view.dims.size() == out.before.size();
  if (!in_place) std::for_each(ones.begin(), ones.end(), add);
  for (const Pieces& d : view.dims) {
    if (d.empty() && in_place) {
      add(ones.front());
      ones.erase(ones.begin());
    }
    for (const Piece& p : d) {
      const auto at = std::find(in_memory.begin(), in_memory.end(), p) - in_memory.begin();
      add(others[static_cast<std::size_t>(at)]);
    }
  }
  return out;
}

}  // namespace tessera::passes
