// SPDX-License-Identifier: Apache-2.0
// Chains of reshape, transpose, squeeze, expand_dims, strided_slice, take of one index and the
// projections of split become at most a slice, a reshape, a transpose and a reshape. Those that
// only put rows in another order, or count them otherwise, move after products with a matrix and
// additions of a vector, where they may meet their inverse.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "ops/attrs/index.h"
#include "ops/attrs/matmul.h"
#include "ops/attrs/shape.h"
#include "passes/factored_view.h"
#include "passes/pass.h"
#include "passes/view_calls.h"
#include "relay/rewrite.h"

namespace tessera::passes {
namespace {

using relay::Copier;
using relay::Function;
using relay::NodeId;

struct SeenAs {
  NodeId base;  // of the new function
  Sizes base_sizes;
  FactoredView view;
  bool is_product = false;  // the base is a product, with a vector added or not
};

// Sizes that are known, and none of them 0.
std::optional<Sizes> sizes_of(const Type& type) {
  if (!type.is_tensor()) return std::nullopt;
  auto sizes = constant_shape(type.shape());
  if (sizes && std::find(sizes->begin(), sizes->end(), 0) != sizes->end()) return std::nullopt;
  return sizes;
}

class Canonicalizer {
 public:
  Canonicalizer(const Function& f, const relay::OperatorTable& operators, const ConstantPool& pool)
      : f_(f), operators_(operators), pool_(pool) {}

  Function run() {
    return relay::rewrite(f_, [&](Copier& c, NodeId id) { return visit(c, id); });
  }

 private:
  using Found = std::optional<NodeId>;

  Found visit(Copier& c, NodeId id) {
    if (f_[id].region != Function::kBody || !sizes_of(f_.type(id))) return std::nullopt;
    if (f_.as<relay::Project>(id) != nullptr) return keep(c, id, part_of_split(c, id));
    if (f_.op(id) == nullptr) return std::nullopt;
    const std::string_view op = f_.op(id)->name;
    if (op == "nn.matmul" || op == "nn.dense") return after_product(c, id);
    if (op == "add") return after_addition(c, id);
    return keep(c, id, view_of(c, id));
  }

  // How the old value is seen: itself, or something before it.
  std::optional<SeenAs> seen(Copier& c, NodeId old) const {
    if (const auto it = seen_.find(old); it != seen_.end()) return it->second;
    const auto sizes = sizes_of(f_.type(old));
    if (!sizes) return std::nullopt;
    return SeenAs{c.map(old), *sizes, FactoredView::of(*sizes), products_.contains(old)};
  }

  Found keep(Copier& c, NodeId id, const std::optional<SeenAs>& what) {
    if (!what) return std::nullopt;
    const Found made = make(c, *what);
    if (!made) return std::nullopt;
    seen_.emplace(id, *what);
    if (what->is_product && what->view == FactoredView::of(what->base_sizes)) products_.insert(id);
    return made;
  }

  // ---- Views

  template <class A>
  A attrs(NodeId call) const {
    return relay::read_attrs<A>(f_.as<relay::OpCall>(call)->attrs);
  }

  std::optional<SeenAs> view_of(Copier& c, NodeId id) const {
    const std::string_view op = f_.op(id)->name;
    const bool is_view = op == "reshape" || op == "squeeze" || op == "expand_dims" ||
                         op == "transpose" || op == "strided_slice" || op == "take";
    if (!is_view || f_.as<relay::Constant>(f_.operands(id)[0]) != nullptr) return std::nullopt;
    auto what = seen(c, f_.operands(id)[0]);
    if (!what) return std::nullopt;
    auto view = op == "take" ? taken(id, what->view)
                             : view_after(f_, id, *sizes_of(f_.type(id)), what->view);
    if (!view) return std::nullopt;
    what->view = *std::move(view);
    return what;
  }

  // One index along an axis, which goes away.
  std::optional<FactoredView> taken(NodeId id, const FactoredView& view) const {
    const auto a = attrs<ops::TakeAttrs>(id);
    const auto* constant = f_.as<relay::Constant>(f_.operands(id)[1]);
    if (constant == nullptr || !a.axis || a.batch_dims != 0) return std::nullopt;
    const Tensor& index = pool_.resolve(constant->value);
    if (!index.shape.empty() || index.dtype != kInt64) return std::nullopt;
    const auto at = static_cast<std::size_t>(
        *a.axis < 0 ? *a.axis + static_cast<std::int64_t>(view.dims.size()) : *a.axis);
    const auto place = static_cast<std::int64_t>(element_as_double(index, 0));
    if (place < 0 || place >= view.sizes()[at]) return std::nullopt;
    auto one = view.slice(at, place, 1);
    if (one) one->dims.erase(one->dims.begin() + static_cast<std::ptrdiff_t>(at));
    return one;
  }

  std::optional<SeenAs> part_of_split(Copier& c, NodeId id) const {
    const NodeId split = f_.operands(id)[0];
    if (f_.op(split) == nullptr || f_.op(split)->name != "split") return std::nullopt;
    auto what = seen(c, f_.operands(split)[0]);
    if (!what) return std::nullopt;
    std::int64_t axis = attrs<ops::SplitAttrs>(split).axis;
    if (axis < 0) axis += static_cast<std::int64_t>(what->view.dims.size());
    const auto at = static_cast<std::size_t>(axis);
    const auto fields = flatten(f_.type(split));
    std::int64_t begin = 0;
    for (int i = 0; i < f_.as<relay::Project>(id)->index; ++i) {
      const auto sizes = sizes_of(fields[static_cast<std::size_t>(i)]);
      if (!sizes) return std::nullopt;
      begin += (*sizes)[at];
    }
    auto view = what->view.slice(at, begin, (*sizes_of(f_.type(id)))[at]);
    if (!view) return std::nullopt;
    what->view = *std::move(view);
    return what;
  }

  // ---- What a view is made of

  NodeId call(Copier& c, std::string_view op, std::initializer_list<NodeId> operands,
              relay::Attrs attrs) const {
    return c.builder().call(*operators_.find(op), operands, std::move(attrs));
  }

  Found make(Copier& c, const SeenAs& what) const {
    NodeId node = what.base;
    Sizes sizes = what.base_sizes;
    FactoredView view = what.view;
    if (!is_whole(view, sizes)) {
      const auto slice = find_slice(what.view, what.base_sizes, view);
      if (!slice) return std::nullopt;
      sizes[slice->axis] = slice->extent;
      node = call(c, "strided_slice", {node},
                  {{"begin", Sizes{slice->begin}},
                   {"end", Sizes{slice->begin + slice->extent}},
                   {"strides", Sizes{1}},
                   {"axes", Sizes{static_cast<std::int64_t>(slice->axis)}}});
    }
    return ordered(c, node, sizes, view);
  }

  NodeId reshaped(Copier& c, NodeId node, Sizes& sizes, const Sizes& wanted) const {
    if (sizes == wanted) return node;
    sizes = wanted;
    return call(c, "reshape", {node}, {{"newshape", wanted}});
  }

  // A view that goes once through `node`.
  NodeId ordered(Copier& c, NodeId node, Sizes& sizes, const FactoredView& view) const {
    if (view.pieces().size() > 1) {
      const Permuted p = permuted(sizes, view);
      node = reshaped(c, node, sizes, p.before);
      node = call(c, "transpose", {node}, {{"axes", p.axes}});
      sizes = p.after;
    }
    return reshaped(c, node, sizes, view.sizes());
  }

  // ---- Rows that move after what is done to each of them

  // Do all rows of the base stand in the view, each as it is?
  static bool holds_rows(const SeenAs& what) {
    return is_whole(what.view, what.base_sizes) && !what.view.dims.empty() &&
           !what.base_sizes.empty() &&
           what.view.dims.back() == joined({{what.base_sizes.back(), 1}});
  }

  // The value as rows of `base` in another order, or counted otherwise; nothing where they are in
  // order already. The base may be made for it.
  std::optional<SeenAs> as_rows(Copier& c, NodeId old) const {
    const auto found = seen_.find(old);
    if (found == seen_.end() || found->second.view.dims.size() < 2) return std::nullopt;
    SeenAs what = found->second;
    const Pieces last = what.view.dims.back();
    const bool is_row = what.base_sizes.size() > 1 && holds_rows(what);
    if (!is_row) {
      const FactoredView outer{{what.view.dims.begin(), what.view.dims.end() - 1}, 0};
      const Pieces rows = in_order_of_memory(outer.pieces());
      if (rows == outer.pieces()) return std::nullopt;
      FactoredView canonical = FactoredView::of(rows, last);
      canonical.offset = what.view.offset;
      const auto made = make(c, {what.base, what.base_sizes, canonical, false});
      if (!made || last.empty()) return std::nullopt;
      what = {*made, canonical.sizes(), renumbered(what.view, rows, extent_of(last)), false};
    }
    return what.view == FactoredView::of(what.base_sizes) ? std::nullopt : std::optional(what);
  }

  // The same rows when each piece of them is as far apart as if they lay in this order.
  static FactoredView renumbered(const FactoredView& view, const Pieces& rows, std::int64_t width) {
    const auto fresh = [&](const Piece& p) {  // a part of one of the rows' pieces
      std::int64_t stride = width;
      for (std::size_t i = rows.size(); i-- > 0;) {
        const bool inside =
            p.stride >= rows[i].stride && p.stride < rows[i].stride * rows[i].extent;
        if (inside) return Piece{p.extent, p.stride / rows[i].stride * stride};
        stride *= rows[i].extent;
      }
      return p;
    };
    FactoredView out = view;
    out.offset = 0;
    for (std::size_t i = 0; i + 1 < out.dims.size(); ++i) {
      for (Piece& p : out.dims[i]) p = fresh(p);
      out.dims[i] = joined(out.dims[i]);
    }
    out.dims.back() = joined({{width, 1}});
    return out;
  }

  // Rows of another width in the same order.
  static SeenAs with_width(SeenAs rows, NodeId base, std::int64_t width) {
    const std::int64_t before = rows.base_sizes.back();
    rows.base = base;
    rows.base_sizes.back() = width;
    for (Pieces& d : rows.view.dims) {
      for (Piece& p : d) p.stride = p.stride / before * width;
    }
    rows.view.dims.back() = joined({{width, 1}});
    return rows;
  }

  // Sums of integers stay beside the scale that makes floats of them.
  Found after_product(Copier& c, NodeId id) {
    if (!f_.type(id).dtype().is_float()) return std::nullopt;
    const NodeId weight = f_.operands(id)[1];
    const auto sizes = sizes_of(f_.type(weight));
    if (!sizes || sizes->size() != 2) return std::nullopt;
    const bool is_dense = f_.op(id)->name == "nn.dense";
    if (!is_dense && attrs<ops::MatmulAttrs>(id).transpose_a) return std::nullopt;
    products_.insert(id);
    auto rows = as_rows(c, f_.operands(id)[0]);
    if (!rows) return std::nullopt;
    rows->is_product = true;
    const NodeId operands[] = {rows->base, c.map(weight)};
    const NodeId moved = c.builder().call(*f_.op(id), operands, f_.as<relay::OpCall>(id)->attrs);
    return keep(c, id, with_width(*rows, moved, sizes_of(f_.type(id))->back()));
  }

  Found after_addition(Copier& c, NodeId id) {
    for (const std::size_t side : {0, 1}) {
      const NodeId x = f_.operands(id)[side], other = f_.operands(id)[1 - side];
      const auto found = seen_.find(x);
      const auto sizes = sizes_of(f_.type(other));
      if (!sizes || f_.type(x).shape() != f_.type(id).shape()) continue;
      if (sizes->size() <= 1 && products_.contains(x)) products_.insert(id);
      if (found == seen_.end()) continue;
      const SeenAs& what = found->second;
      if (sizes->size() <= 1) return after_vector(c, id, side, what);
      if (f_.type(other).shape() == f_.type(id).shape() && !products_.contains(other)) {
        if (const Found moved = after_residual(c, id, side, what)) return moved;
      }
    }
    return std::nullopt;
  }

  Found after_vector(Copier& c, NodeId id, std::size_t side, const SeenAs& what) {
    if (!holds_rows(what)) return std::nullopt;
    return add(c, id, side, what, c.map(f_.operands(id)[1 - side]));
  }

  // A product that is counted otherwise takes what is added to it in its own shape.
  Found after_residual(Copier& c, NodeId id, std::size_t side, const SeenAs& what) {
    const bool is_in_order = what.view.pieces().size() <= 1;
    if (!what.is_product || !is_in_order || !is_whole(what.view, what.base_sizes)) {
      return std::nullopt;
    }
    auto other = seen(c, f_.operands(id)[1 - side]);
    auto view = other ? other->view.reshape(what.base_sizes) : std::nullopt;
    if (!view) return std::nullopt;
    other->view = *std::move(view);
    const Found in_shape = make(c, *other);
    return in_shape ? add(c, id, side, what, *in_shape) : std::nullopt;
  }

  Found add(Copier& c, NodeId id, std::size_t side, const SeenAs& what, NodeId other) {
    NodeId operands[] = {what.base, what.base};
    operands[1 - side] = other;
    SeenAs moved = what;
    moved.base = c.builder().call(*f_.op(id), operands, f_.as<relay::OpCall>(id)->attrs);
    moved.is_product &= f_.type(f_.operands(id)[1 - side]).rank() <= 1;
    return keep(c, id, moved);
  }

  const Function& f_;
  const relay::OperatorTable& operators_;
  const ConstantPool& pool_;
  std::map<NodeId, SeenAs> seen_;  // by old nodes
  std::set<NodeId> products_;      // old ones, with a vector added or not
};

Result<Module> run_canonicalize_views(Module module, PassContext& context) {
  return map_optimizable(std::move(module), [&](const Function& f, const ConstantPool& pool) {
    return Canonicalizer(f, context.operators, pool).run();
  });
}

}  // namespace

extern const Pass canonicalize_views;
const Pass canonicalize_views{
    .name = "canonicalize-views",
    .summary = "shortens chains of reshapes, transposes and slices, and moves them after products",
    .run = run_canonicalize_views,
};

}  // namespace tessera::passes
