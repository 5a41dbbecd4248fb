// SPDX-License-Identifier: Apache-2.0
#include "backends/cutlass/attention.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "byoc/view.h"
#include "constants/pool.h"
#include "ops/attrs/matmul.h"
#include "ops/attrs/norm.h"
#include "ops/attrs/shape.h"
#include "relay/operator.h"
#include "relay/refuse.h"

namespace tessera::backends::cutlass {
namespace {

using byoc::View;
using relay::Function;
using relay::NodeId;
using relay::Refusal;
using relay::refuse;

// An input of the composite as one of its nodes sees it.
struct Seen {
  NodeId input;
  View view;
  Dim offset = 0;
  double factor = 1;  // what it was multiplied by
};

// What stands between scores and softmax: a mask that is added, or a choice of the scores where it
// is `seen`, and of a number elsewhere.
struct MaskStep {
  NodeId mask;
  bool chooses = false, seen = true;
  double hidden = 0;
};

// The softmax is zero where this is added, or chosen instead of a score.
constexpr double kAsGoodAsNothing = -1e4;
// kAllHide of the kernel: sums with scores are this number.
constexpr double kAllHide = -0x1p100;

class Describer {
 public:
  explicit Describer(const Composite& c) : c_(c), f_(*c.function) {}

  Expected<Attention, Refusal> run() {
    TESSERA_TRY(const NodeId product, find_result());
    TESSERA_TRY(const NodeId softmax, find_softmax(f_.operands(product)[0]));
    if (!is(softmax, "nn.softmax")) return refuse("there is no softmax in front of the values");
    const auto axis = relay::read_attrs<ops::SoftmaxAttrs>(attrs(softmax)).axis;
    if (axis != -1 && axis + 1 != static_cast<std::int64_t>(shape(softmax).size())) {
      return refuse("the softmax is not along the keys");
    }
    TESSERA_TRY(const NodeId scores, find_scores(f_.operands(softmax)[0]));
    TESSERA_TRY(Seen q, see(f_.operands(scores)[0]));
    TESSERA_TRY(Seen k, see(f_.operands(scores)[1]));
    TESSERA_TRY(Seen v, see(f_.operands(product)[1]));
    if (!transposes_second(scores)) swap_last(k.view);
    if (transposes_second(product)) swap_last(v.view);
    out_.scale *= q.factor * k.factor;
    if (v.factor != 1 || !(out_.scale > 0)) return refuse("the values or signs are scaled");
    TESSERA_TRY_VOID(set_sizes(q.view.dims, k.view.dims, v.view.dims));
    TESSERA_TRY(out_.q, heads_view(q));
    TESSERA_TRY(out_.k, heads_view(k));
    TESSERA_TRY(out_.v, heads_view(v));
    TESSERA_TRY(out_.o, heads_view(result_));
    TESSERA_TRY_VOID(set_masks());
    return out_;
  }

 private:
  bool is(NodeId id, std::string_view op) const {
    return f_.op(id) != nullptr && f_.op(id)->name == op;
  }
  bool is_product(NodeId id) const { return is(id, "nn.matmul") || is(id, "nn.batch_matmul"); }
  bool is_inside(NodeId id) const {
    return std::binary_search(c_.inside.begin(), c_.inside.end(), id);
  }
  const relay::Attrs& attrs(NodeId id) const { return f_.as<relay::OpCall>(id)->attrs; }
  const Shape& shape(NodeId id) const { return f_.type(id).shape(); }

  bool transposes_second(NodeId product) const {
    return is(product, "nn.matmul")
               ? relay::read_attrs<ops::MatmulAttrs>(attrs(product)).transpose_b
               : relay::read_attrs<ops::BatchMatmulAttrs>(attrs(product)).transpose_b;
  }

  static void swap_last(View& view) {
    const std::size_t rank = view.rank();
    std::swap(view.dims[rank - 1], view.dims[rank - 2]);
    std::swap(view.strides[rank - 1], view.strides[rank - 2]);
  }

  const Tensor* tensor_of(NodeId id) const {
    const auto* constant = f_.as<relay::Constant>(id);
    if (constant == nullptr) return nullptr;
    const auto* tensor = std::get_if<Tensor>(&constant->value);
    return tensor == nullptr && c_.pool != nullptr ? &c_.pool->resolve(constant->value) : tensor;
  }

  std::optional<double> scalar(NodeId id) const {
    const Tensor* tensor = tensor_of(id);
    if (tensor == nullptr || tensor->num_elements() != 1) return std::nullopt;
    return element_as_double(*tensor, 0);
  }

  // What keys behind the query have for a score, or what is added to it, if the constant does no
  // more than hide them: so little that the softmax is zero there.
  std::optional<double> hides_the_future(const MaskStep& step) const {
    const Tensor* tensor = tensor_of(step.mask);
    if (tensor == nullptr || out_.queries != out_.keys ||
        tensor->num_elements() != out_.queries * out_.keys) {
      return std::nullopt;
    }
    const double neutral = step.chooses && step.seen ? 1 : 0;
    double hidden = step.chooses ? step.hidden : -INFINITY;
    for (std::int64_t i = 0; i < tensor->num_elements(); ++i) {
      const bool is_seen = i % out_.keys <= i / out_.keys;
      const double value = element_as_double(*tensor, i);
      if (is_seen != (value == neutral) || std::isnan(value)) return std::nullopt;
      if (!is_seen && !step.chooses) hidden = std::max(hidden, value);
    }
    return hidden <= kAsGoodAsNothing ? std::optional(hidden) : std::nullopt;
  }

  Expected<void, Refusal> set_masks() {
    std::optional<MaskStep> causal, read;
    for (const MaskStep& step : masks_) {
      std::optional<MaskStep>& kind = is_inside(step.mask) ? causal : read;
      if (kind) return refuse("two masks stand between scores and softmax");
      kind = step;
    }
    if (causal) {
      const auto hidden = hides_the_future(*causal);
      if (!hidden) return refuse("the mask is computed inside");
      causal->hidden = *hidden;
      out_.is_causal = true;
    }
    if (!read) return {};
    TESSERA_TRY(out_.mask, mask_view(*read));
    out_.seen = read->seen;
    if (read->chooses && causal && !hide_alike(*causal, *read)) {
      return refuse("the causal mask and the other one hide keys by different numbers");
    }
    if (read->chooses || causal) out_.hidden = hidden_score(read->chooses ? *read : *causal);
    return {};
  }

  // Where a row has no key, the numbers decide: added to scores they only do if they are infinite.
  static bool hide_alike(const MaskStep& a, const MaskStep& b) {
    return a.hidden == b.hidden && (a.chooses == b.chooses || std::isinf(a.hidden));
  }
  // A choice gives all hidden keys the same share in a row that has no other.
  double hidden_score(const MaskStep& step) const {
    if (std::isinf(step.hidden)) return step.hidden;
    return out_.mask_dtype.is_bool() ? kAllHide : std::max(step.hidden / out_.scale, kAllHide);
  }

  // Back from the root over reshapes and transposes to the product with the values; what they do
  // is undone on the result's view.
  Expected<NodeId, Refusal> find_result() {
    NodeId id = c_.root;
    result_ = {c_.root, View::of(shape(id)), 0, 1};
    while (is(id, "reshape") || is(id, "transpose")) {
      const NodeId before = f_.operands(id)[0];
      if (is(id, "reshape")) {
        auto view = result_.view.reshape(shape(before));
        if (!view) return refuse("the result is not a view of the heads");
        result_.view = *std::move(view);
      } else {
        const auto axes = axes_of(id);
        View view = result_.view;
        for (std::size_t i = 0; i < axes.size(); ++i) {
          view.dims[static_cast<std::size_t>(axes[i])] = result_.view.dims[i];
          view.strides[static_cast<std::size_t>(axes[i])] = result_.view.strides[i];
        }
        result_.view = std::move(view);
      }
      id = before;
    }
    if (!is_product(id) || !is_inside(id)) return refuse("there is no product with the values");
    return id;
  }

  Expected<NodeId, Refusal> through_casts(NodeId id) const {
    while (is_inside(id) && is(id, "cast")) id = f_.operands(id)[0];
    if (!is_inside(id)) return refuse("the composite ends early");
    return id;
  }

  // Back over casts and over where(isnan(p), 0, p): without a key the kernel's rows are zero.
  Expected<NodeId, Refusal> find_softmax(NodeId id) const {
    TESSERA_TRY(id, through_casts(id));
    if (!is(id, "where")) return id;
    const auto operands = f_.operands(id);
    const bool is_guard = is(operands[0], "isnan") && f_.operands(operands[0])[0] == operands[2] &&
                          scalar(operands[1]) == 0.0;
    if (!is_guard) return refuse("a choice stands behind the softmax");
    return through_casts(operands[2]);
  }

  // From the softmax back to the product of queries and keys, over the mask and the scale.
  Expected<NodeId, Refusal> find_scores(NodeId id) {
    for (;;) {
      TESSERA_TRY(id, through_casts(id));
      if (is_product(id)) return id;
      const auto operands = f_.operands(id);
      if (is(id, "add")) {
        const std::size_t first = is_computed_inside(operands[0]) ? 0 : 1;
        masks_.push_back({.mask = operands[1 - first]});
        id = operands[first];
      } else if (is(id, "where")) {
        TESSERA_TRY(id, find_choice(operands));
      } else if (is(id, "multiply") || is(id, "divide")) {
        TESSERA_TRY(id, scaled(id, out_.scale));
      } else {
        return refuse("`{}` stands between scores and softmax",
                      f_.op(id) != nullptr ? f_.op(id)->name : "a value");
      }
    }
  }

  bool is_computed_inside(NodeId id) const { return is_inside(id) && f_.op(id) != nullptr; }

  // The scores of where(mask, scores, number), or where(mask, number, scores).
  Expected<NodeId, Refusal> find_choice(std::span<const NodeId> operands) {
    const std::size_t scores = is_computed_inside(operands[1]) ? 1 : 2;
    const auto hidden = scalar(operands[3 - scores]);
    if (!hidden || !(*hidden <= kAsGoodAsNothing)) {
      return refuse("a choice in front of the softmax is for no number that hides keys");
    }
    masks_.push_back(
        {.mask = operands[0], .chooses = true, .seen = scores == 1, .hidden = *hidden});
    return operands[scores];
  }

  // The operand that a product or quotient with a number scales.
  Expected<NodeId, Refusal> scaled(NodeId id, double& factor) const {
    const auto operands = f_.operands(id);
    if (const auto by = scalar(operands[1])) {
      factor *= is(id, "divide") ? 1 / *by : *by;
      return operands[0];
    }
    if (const auto by = scalar(operands[0]); by && is(id, "multiply")) {
      factor *= *by;
      return operands[1];
    }
    return refuse("scores are scaled by a tensor");
  }

  std::vector<std::int64_t> axes_of(NodeId transpose) const {
    auto axes = relay::read_attrs<ops::TransposeAttrs>(attrs(transpose)).axes;
    const auto rank = static_cast<std::int64_t>(shape(transpose).size());
    if (!axes) {
      axes.emplace();
      for (std::int64_t i = rank; i-- > 0;) axes->push_back(i);
    }
    for (std::int64_t& axis : *axes) axis = axis < 0 ? axis + rank : axis;
    return *axes;
  }

  Expected<Seen, Refusal> see(NodeId id) const {
    std::vector<NodeId> chain;
    Seen seen;
    while (is_inside(id)) {
      if (is(id, "multiply") || is(id, "divide")) {
        TESSERA_TRY(id, scaled(id, seen.factor));
      } else if (is(id, "reshape") || is(id, "transpose") || is(id, "strided_slice")) {
        chain.push_back(id);
        id = f_.operands(id)[0];
      } else {
        return refuse("`{}` stands in front of the heads",
                      f_.op(id) != nullptr ? f_.op(id)->name : "a constant");
      }
    }
    seen.input = id;
    seen.view = View::of(shape(id));
    for (auto step = chain.rbegin(); step != chain.rend(); ++step) {
      if (is(*step, "transpose")) {
        seen.view = seen.view.transpose(axes_of(*step));
      } else if (is(*step, "reshape")) {
        auto view = seen.view.reshape(shape(*step));
        if (!view) return refuse("the heads are no view of what they are made of");
        seen.view = *std::move(view);
      } else if (!slice(*step, seen)) {
        return refuse("a slice is not plain");
      }
    }
    return seen;
  }

  // A slice with steps of one, from places that are numbers.
  bool slice(NodeId id, Seen& seen) const {
    const auto a = relay::read_attrs<ops::StridedSliceAttrs>(attrs(id));
    if (!a.begin || a.slice_mode != "end") return false;
    if (a.strides &&
        std::any_of(a.strides->begin(), a.strides->end(), [](std::int64_t s) { return s != 1; })) {
      return false;
    }
    for (std::size_t i = 0; i < a.begin->size(); ++i) {
      std::int64_t axis = a.axes ? (*a.axes)[i] : static_cast<std::int64_t>(i);
      if (axis < 0) axis += static_cast<std::int64_t>(seen.view.rank());
      const auto at = static_cast<std::size_t>(axis);
      const std::int64_t begin = (*a.begin)[i];
      seen.offset = seen.offset +
                    seen.view.strides[at] * (begin < 0 ? seen.view.dims[at] + begin : Dim(begin));
    }
    seen.view.dims = shape(id);
    return true;
  }

  Expected<void, Refusal> set_sizes(const Shape& q, const Shape& k, const Shape& v) {
    for (const Shape* s : {&q, &k, &v}) {
      if (s->size() != 4) return refuse("the heads are not of rank 4");
      for (const Dim& d : *s) {
        if (!d.is_constant()) return refuse("a size is not known");
      }
    }
    out_.batch = q[0].constant();
    out_.heads = q[1].constant();
    out_.queries = q[2].constant();
    out_.width = q[3].constant();
    out_.keys = k[2].constant();
    const Shape wanted = {q[0], q[1], k[2], q[3]};
    if (k != wanted || v != wanted) return refuse("keys or values are broadcast");
    if (out_.width != 64 && out_.width != 128) {
      return refuse("heads are {} wide, not 64 or 128", out_.width);
    }
    out_.dtype = f_.type(c_.root).dtype();
    if (out_.dtype != kFloat16 && out_.dtype != kBFloat16) {
      return refuse("there is no attention kernel for {}", to_string(out_.dtype));
    }
    return {};
  }

  // TMA wants strides of whole 16 bytes.
  Expected<HeadsView, Refusal> heads_view(const Seen& seen) const {
    if (f_.type(seen.input).dtype() != out_.dtype) return refuse("the heads differ in data type");
    Shape s = seen.view.strides;
    if (s.size() != 4 || s[3] != Dim(1)) return refuse("elements of a head lie apart");
    // What is there once has no distance to the next; TMA wants one none the less.
    for (std::size_t i = 0; i < 3; ++i) {
      if (seen.view.dims[i] == Dim(1)) s[i] = seen.view.dims[2] * s[2];
    }
    for (const Dim& d : {s[0], s[1], s[2], seen.offset}) {
      if (!d.is_constant() || d.constant() % 8 != 0 || d.constant() > INT32_MAX) {
        return refuse("rows of heads are no multiples of 16 bytes apart");
      }
    }
    return HeadsView{seen.input, seen.offset.constant(), s[0].constant(), s[1].constant(),
                     s[2].constant()};
  }

  Expected<HeadsView, Refusal> mask_view(const MaskStep& step) {
    const NodeId id = step.mask;
    Shape dims = shape(id);
    out_.mask_dtype = f_.type(id).dtype();
    if (!step.chooses && out_.mask_dtype != out_.dtype && out_.mask_dtype != kFloat32) {
      return refuse("the mask is {}", to_string(out_.mask_dtype));
    }
    if (dims.size() > 4) return refuse("the mask is of rank {}", dims.size());
    dims.insert(dims.begin(), 4 - dims.size(), Dim(1));
    const View view = View::of(dims);
    const std::int64_t sizes[] = {out_.batch, out_.heads, out_.queries, out_.keys};
    std::int64_t strides[4];
    for (std::size_t i = 0; i < 4; ++i) {
      const bool repeats = dims[i] == Dim(1) && sizes[i] != 1;
      if (!repeats && dims[i] != Dim(sizes[i])) {
        return refuse("the mask's shape is {}", to_string(dims));
      }
      strides[i] = repeats ? 0 : view.strides[i].constant();
    }
    if (out_.keys % 2 != 0) return refuse("the number of keys, {}, is odd", out_.keys);
    if (strides[3] != 1) return refuse("the mask is the same for all keys");
    return HeadsView{id, 0, strides[0], strides[1], strides[2]};
  }

  const Composite& c_;
  const Function& f_;
  std::vector<MaskStep> masks_;
  Seen result_;
  Attention out_;
};

}  // namespace

Expected<Attention, Refusal> describe_attention(const relay::Match& match) {
  return Describer({match.function, match.pool, match.inside, {}, match.root}).run();
}

Expected<Attention, Refusal> describe_attention(const Function& region, const ConstantPool& pool) {
  const auto composite = composite_of(region, pool);
  if (!composite) return {Unexpected<Refusal>{composite.error()}};
  return Describer(*composite).run();
}

}  // namespace tessera::backends::cutlass
