// SPDX-License-Identifier: Apache-2.0
// Matrix products: reshapes and transposes around them become strides, scalings, additions and
// activations after them become post-operations.
#include <algorithm>

#include "backends/onednn/describe.h"
#include "backends/onednn/epilogue.h"

namespace tessera::backends::onednn {
namespace {

struct Factor {
  NodeId value;
  View view;
  double scale = 1;
};

// The operand `id` of the product as a view of what lies before the views and scalings inside.
Expected<Factor, Refusal> factor_of(const Subject& s, NodeId id) {
  if (!s.is_inside(id) || s.is_constant(id)) return Factor{id, View::of(s.shape(id)), 1};
  if (const auto scaled = scaling(s, id)) {
    TESSERA_TRY(Factor out, factor_of(s, scaled->value));
    out.scale *= scaled->factor;
    return out;
  }
  TESSERA_TRY(Factor out, factor_of(s, s.operands(id)[0]));
  if (s.op(id) == "transpose") {
    out.view = out.view.transpose(transpose_axes(s, id));
    return out;
  }
  if (!is_reshape(s.op(id))) return refuse("`{}` before the product is no view", s.op(id));
  const auto view = out.view.reshape(s.shape(id));
  if (!view) return refuse("the reshape before the product needs a copy");
  out.view = *view;
  return out;
}

View swap_last(View v) {
  std::swap(v.dims[v.rank() - 2], v.dims[v.rank() - 1]);
  std::swap(v.strides[v.rank() - 2], v.strides[v.rank() - 1]);
  return v;
}

// One value that takes part, as [batch..., rows, columns].
struct Part {
  NodeId value;
  View view;
};

// A product c = alpha * a b with what is added to it.
struct Product {
  Part a, b, c;
  double alpha = 1;
  std::vector<Part> added;          // one a kAdd step, from the core outwards
  std::vector<EpilogueStep> steps;  // from the core outwards, without the views

  std::vector<View*> views() {
    std::vector<View*> out = {&a.view, &b.view, &c.view};
    for (Part& p : added) out.push_back(&p.view);
    return out;
  }
};

// ---- Additions ---------------------------------------------------------------------------------

// The added value under the dimensions of the node it is added to, as if views between that node
// and the core were undone. It may be of full size, or repeat along leading dimensions.
Expected<View, Refusal> undo_views(const Subject& s, std::span<const EpilogueStep> inner, View v) {
  for (const EpilogueStep& step : inner) {
    if (step.kind != EpilogueKind::kView) continue;
    const Shape before = s.shape(s.operands(step.node)[0]), after = s.shape(step.node);
    if (v.dims == after) {
      const auto undone = is_reshape(s.op(step.node)) ? v.reshape(before) : std::nullopt;
      if (undone) {
        v = *undone;
        continue;
      }
      if (s.op(step.node) != "transpose") return refuse("the reshape after it needs a copy");
      const Ints axes = transpose_axes(s, step.node);
      Ints inverse(axes.size());
      for (std::size_t i = 0; i < axes.size(); ++i) {
        inverse[static_cast<std::size_t>(axes[i])] = static_cast<std::int64_t>(i);
      }
      v = v.transpose(inverse);
      continue;
    }
    // A vector along the last dimension stays one, if that dimension does.
    const bool vector = num_elements(v.dims) == v.dims.back();
    if (!vector || !is_reshape(s.op(step.node)) || before.back() != after.back()) {
      return refuse("what is added after a view repeats along dimensions");
    }
    Shape dims(before.size(), 1);
    dims.back() = v.dims.back();
    v = View::of(dims);
  }
  return v;
}

// numpy's alignment at the end.
View with_rank(View v, std::size_t rank) {
  while (v.rank() < rank) v = v.insert(0);
  return v;
}

// `inner`: the steps from the addition (exclusive) to the core.
Expected<Part, Refusal> added_part(const Subject& s, const EpilogueStep& step,
                                   std::span<const EpilogueStep> inner) {
  Shape dims = s.shape(step.other);
  const std::size_t rank = s.shape(step.node).size();
  if (s.op(step.node) == "nn.bias_add") {
    std::int64_t axis = s.integer(step.node, "axis");
    axis += axis < 0 ? static_cast<std::int64_t>(rank) : 0;
    dims.resize(rank - static_cast<std::size_t>(axis), 1);
  }
  TESSERA_TRY(View view, undo_views(s, inner, with_rank(View::of(dims), rank)));
  return Part{step.other, std::move(view)};
}

// ---- Dimensions --------------------------------------------------------------------------------

// A factor that has no batch (a weight) lets batch and rows be one dimension.
bool merge_rows(Product& p) {
  const std::size_t rank = p.c.view.rank();
  if (rank == 2) return true;
  const auto& weight = p.b.view.dims;
  const auto batch_end = weight.begin() + static_cast<std::ptrdiff_t>(rank - 2);
  if (num_elements({weight.begin(), batch_end}) != Dim(1)) return false;
  Product merged = p;
  for (View* v : merged.views()) {
    if (v == &merged.b.view) {
      while (v->rank() > 2) *v = v->erase(0);
      continue;
    }
    const auto one = v->merge(0, rank - 1);
    const Dim rows = one ? one->dims[0] : Dim(0);
    if (!one || (rows != Dim(1) && rows != merged.a.view.dims[0] && v != &merged.a.view))
      return false;
    *v = *one;
  }
  p = std::move(merged);
  return true;
}

// Batch dimensions that are 1 everywhere go; oneDNN's fast products have no batch, or two.
void regular_batch(Product& p) {
  auto views = p.views();
  for (std::size_t i = p.c.view.rank() - 2; i-- > 0;) {
    const bool unit =
        std::all_of(views.begin(), views.end(), [&](View* v) { return v->dims[i] == Dim(1); });
    if (!unit) continue;
    for (View* v : views) *v = v->erase(i);
  }
  if (p.c.view.rank() == 3) {
    for (View* v : views) *v = v->insert(0);
  }
}

// ---- The kernel --------------------------------------------------------------------------------

Expected<Product, Refusal> product_of(const Subject& s, NodeId core) {
  const auto operands = s.operands(core);
  if (s.shape(operands[0]).size() < 2 || s.shape(operands[1]).size() < 2) {
    return refuse("a factor is a vector");
  }
  TESSERA_TRY(Factor a, factor_of(s, operands[0]));
  TESSERA_TRY(Factor b, factor_of(s, operands[1]));
  const bool dense = s.op(core) == "nn.dense";
  if (!dense && s.integer(core, "transpose_a") != 0) a.view = swap_last(a.view);
  if (dense || s.integer(core, "transpose_b") != 0) b.view = swap_last(b.view);
  const std::size_t rank = s.shape(core).size();
  Product p;
  p.a = {a.value, with_rank(a.view, rank)};
  p.b = {b.value, with_rank(b.view, rank)};
  p.alpha = a.scale * b.scale;
  return p;
}

Expected<View, Refusal> result_view(const Subject& s, std::span<const EpilogueStep> outer) {
  View v = View::of(s.shape(s.match().root));
  return undo_views(s, outer, std::move(v));
}

void add_post_ops(Product& p, Kernel& kernel) {
  std::size_t added = 0;
  if (p.alpha != 1) kernel.post_ops.push_back({"eltwise_linear", -1, p.alpha, 0});
  for (const EpilogueStep& step : p.steps) {
    switch (step.kind) {
      case EpilogueKind::kView:
        break;
      case EpilogueKind::kScale:
        kernel.post_ops.push_back({"eltwise_linear", -1, step.factor, 0});
        break;
      case EpilogueKind::kActivation:
        kernel.post_ops.push_back(step.activation);
        break;
      case EpilogueKind::kAdd: {
        Part& part = p.added[added++];
        const bool per_column = num_elements(part.view.dims) == part.view.dims.back() &&
                                part.view.dims.back() == p.c.view.dims.back();
        const bool first = kernel.post_ops.empty() && added == 1;
        if (per_column && first) {
          kernel.add_operand(part.value, "bias", View::of(part.view.dims));
          break;
        }
        const int at = kernel.add_operand(part.value, "post_op", part.view.with_regular_strides());
        kernel.post_ops.push_back({"binary_add", at});
        break;
      }
    }
  }
}

}  // namespace

KernelOr describe_matmul(const Subject& s, std::string_view activation_name) {
  if (auto why = s.refusal()) return Unexpected<Refusal>{*why};
  const NodeId core = s.capture("core");
  TESSERA_TRY(auto steps, epilogue(s, core, activation_name));
  TESSERA_TRY(Product p, product_of(s, core));
  TESSERA_TRY(View result, result_view(s, steps));
  p.c = {s.match().root, std::move(result)};
  for (std::size_t i = steps.size(); i-- > 0;) {
    if (steps[i].kind != EpilogueKind::kAdd) continue;
    TESSERA_TRY(Part part, added_part(s, steps[i], std::span(steps).subspan(i + 1)));
    p.added.push_back(std::move(part));
  }
  p.steps.assign(steps.rbegin(), steps.rend());
  if (!merge_rows(p)) regular_batch(p);

  Kernel kernel;
  kernel.kind = "matmul";
  kernel.add_operand(p.a.value, "source", p.a.view.with_regular_strides());
  kernel.add_operand(p.b.value, "weights", p.b.view.with_regular_strides());
  kernel.result_dims = p.c.view.dims;
  kernel.result_strides = p.c.view.with_regular_strides().strides;
  add_post_ops(p, kernel);
  return kernel;
}

}  // namespace tessera::backends::onednn
