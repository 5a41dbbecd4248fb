// SPDX-License-Identifier: Apache-2.0
#include "attention/describe.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "attention/masks.h"
#include "ops/attrs/norm.h"
#include "relay/patterns/refuse.h"

namespace tessera::attention {
namespace {

using passes::FactoredView;
using passes::Pieces;
using passes::Sizes;
using relay::NodeId;
using relay::Refusal;
using relay::refuse;

std::int64_t count_of(std::span<const std::int64_t> sizes) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  return count;
}

// Sizes without those of the matrices.
Sizes outer(const Sizes& sizes) { return {sizes.begin(), sizes.end() - 2}; }

class Describer {
 public:
  explicit Describer(const relay::Match& m) : nodes_(m), f_(*m.function) {}

  Expected<Attention, Refusal> run() {
    TESSERA_TRY(const SeenAs result, see_product(nodes_));
    const NodeId shares = nodes_.operands(result.node)[0];
    if (!nodes_.is_inside(shares)) return refuse("the softmax is not the left factor");
    TESSERA_TRY(const NodeId softmax, find_softmax(shares));
    if (!nodes_.is(softmax, "nn.softmax")) {
      return refuse("{} stands between the softmax and the values", nodes_.name(softmax));
    }
    const auto axis = nodes_.attrs<ops::SoftmaxAttrs>(softmax).axis;
    const bool is_last =
        axis == -1 || axis + 1 == static_cast<std::int64_t>(f_.type(softmax).rank());
    if (!is_last || nodes_.transposes(result.node, 0)) {
      return refuse("the softmax is not along the keys");
    }
    TESSERA_TRY(const NodeId scores, find_scores(nodes_.operands(softmax)[0]));
    TESSERA_TRY(SeenAs q, see_operand(scores, 0));
    TESSERA_TRY(SeenAs k, see_operand(scores, 1));
    TESSERA_TRY(const SeenAs v, see_operand(result.node, 1));
    std::swap(k.view.dims.back(), k.view.dims[k.view.dims.size() - 2]);
    out_.scale *= q.factor * k.factor;
    if (v.factor != 1) return refuse("the values are scaled");
    if (!(out_.scale > 0))
      return refuse("the factor of the scores, {}, is not above 0", out_.scale);
    TESSERA_TRY_VOID(set_sizes(q.view, k.view, v.view));
    set_heads({&q.view, &k.view, &v.view, &result.view});
    TESSERA_TRY(out_.q, heads_view(q, out_.queries));
    TESSERA_TRY(out_.k, heads_view(k, out_.keys));
    TESSERA_TRY(out_.v, heads_view(v, out_.keys));
    TESSERA_TRY(out_.o, heads_view({nodes_.match().root, result.view}, out_.queries));
    TESSERA_TRY_VOID(set_masks());
    return out_;
  }

 private:
  // An operand of a product as the product multiplies it: [..., row, element].
  Expected<SeenAs, Refusal> see_operand(NodeId product, std::size_t operand) const {
    TESSERA_TRY(SeenAs seen, see_heads(nodes_, nodes_.operands(product)[operand]));
    const std::size_t rank = seen.view.dims.size();
    if (rank != 3 && rank != 4) return refuse("the heads are of rank {}", rank);
    if (nodes_.transposes(product, operand)) {
      std::swap(seen.view.dims[rank - 1], seen.view.dims[rank - 2]);
    }
    return seen;
  }

  // ---- From the values back to the scores

  // Back over casts, and over reshapes that count heads and batches otherwise.
  Expected<NodeId, Refusal> through(NodeId id) {
    for (;; id = nodes_.operands(id)[0]) {
      if (!nodes_.is_inside(id)) return refuse("the composite ends early");
      TESSERA_TRY(const Sizes sizes, nodes_.sizes(id));
      if (sizes.size() == 4 && heads_.empty()) heads_ = outer(sizes);
      if (sizes.size() == 4 && heads_ != outer(sizes)) return refuse("heads are counted twice");
      if (nodes_.is(id, "cast")) continue;
      if (!nodes_.is(id, "reshape")) return id;
      TESSERA_TRY(const Sizes before, nodes_.sizes(nodes_.operands(id)[0]));
      const bool same_rows = before.size() > 1 && sizes.size() > 1 &&
                             std::equal(sizes.end() - 2, sizes.end(), before.end() - 2);
      if (!same_rows) return refuse("a reshape of the scores takes their rows apart");
    }
  }

  // Back over where(isnan(p), 0, p), too: without a key the kernel's rows are zero.
  Expected<NodeId, Refusal> find_softmax(NodeId id) {
    TESSERA_TRY(id, through(id));
    if (!nodes_.is(id, "where")) return id;
    const auto operands = nodes_.operands(id);
    const bool is_guard = nodes_.is(operands[0], "isnan") &&
                          nodes_.operands(operands[0])[0] == operands[2] &&
                          nodes_.number(operands[1]) == 0.0;
    if (!is_guard) return refuse("a `where` follows the softmax");
    out_.zero_without_keys = true;
    return through(operands[2]);
  }

  // From the softmax back to the product of queries and keys, over masks and scale.
  Expected<NodeId, Refusal> find_scores(NodeId id) {
    for (;;) {
      TESSERA_TRY(id, through(id));
      if (nodes_.is_product(id)) return id;
      if (nodes_.is(id, "add") || nodes_.is(id, "where") || nodes_.is(id, "subtract")) {
        TESSERA_TRY(const MaskStep step, read_mask(nodes_, id));
        masks_.push_back(step);
        id = step.scores;
      } else if (nodes_.is(id, "multiply") || nodes_.is(id, "divide")) {
        TESSERA_TRY(id, nodes_.scaled(id, out_.scale));
      } else if (nodes_.is(id, "maximum")) {
        TESSERA_TRY(id, bounded(id));
      } else {
        return refuse("{} stands between scores and softmax", nodes_.name(id));
      }
    }
  }

  // What is as good as hidden, once it is scaled, may have a bound: sums that overflow are minus
  // infinity without it.
  Expected<NodeId, Refusal> bounded(NodeId id) const {
    const auto operands = nodes_.operands(id);
    const auto bound = nodes_.number(operands[1]);
    if (!bound || *bound * out_.scale > kAsGoodAsNothing) {
      return refuse("scores have a lower bound");
    }
    return operands[0];
  }

  // ---- Sizes and strides

  Expected<void, Refusal> set_sizes(const FactoredView& q, const FactoredView& k,
                                    const FactoredView& v) {
    const Sizes queries = q.sizes(), keys = k.sizes(), values = v.sizes();
    out_.queries = queries[queries.size() - 2];
    out_.width = queries.back();
    out_.keys = keys[keys.size() - 2];
    batches_ = count_of(outer(queries));
    const bool same_counts = outer(keys) == outer(queries) && count_of(outer(values)) == batches_ &&
                             (heads_.empty() || count_of(heads_) == batches_);
    const bool same_heads = values.size() == 3 || heads_ == outer(values);
    const Sizes rows(keys.end() - 2, keys.end());
    if (!same_counts || !same_heads || !std::equal(rows.begin(), rows.end(), values.end() - 2)) {
      return refuse("keys or values are broadcast, or values are not as wide as keys");
    }
    out_.dtype = f_.type(nodes_.match().root).dtype();
    return {};
  }

  // Heads of batches as values of rank 4 count them; else as they lie in memory.
  void set_heads(std::initializer_list<const FactoredView*> views) {
    for (const FactoredView* view : views) {
      const Pieces& outermost = view->dims[0];
      if (!heads_.empty() || outermost.size() != 2) continue;
      heads_ = {outermost[0].extent, outermost[1].extent};
    }
    if (heads_.empty()) heads_ = {batches_, 1};
    out_.batch = heads_[0];
    out_.heads = heads_[1];
  }

  Expected<HeadsView, Refusal> heads_view(const SeenAs& seen, std::int64_t rows) const {
    if (f_.type(seen.node).dtype() != out_.dtype) return refuse("the heads differ in data type");
    const auto view = seen.view.reshape({out_.batch, out_.heads, rows, out_.width});
    if (!view || std::any_of(view->dims.begin(), view->dims.end(),
                             [](const Pieces& d) { return d.size() > 1; })) {
      return refuse("the heads lie in no regular order");
    }
    const Pieces& row = view->dims[3];
    if (row.empty() || row[0].stride != 1) return refuse("elements of a head lie apart");
    // What is there once has no distance to the next; kernels want one none the less.
    const auto stride = [&](std::size_t axis, std::int64_t otherwise) {
      return view->dims[axis].empty() ? otherwise : view->dims[axis][0].stride;
    };
    const std::int64_t rows_apart = stride(2, out_.width),
                       heads_apart = stride(1, rows * rows_apart);
    return HeadsView{seen.node, view->offset, stride(0, rows * rows_apart), heads_apart,
                     rows_apart};
  }

  // ---- Masks

  Expected<void, Refusal> set_masks() {
    std::optional<MaskStep> causal, read;
    for (const MaskStep& step : masks_) {
      const bool is_constant = nodes_.is_inside(step.mask) && nodes_.constant(step.mask) != nullptr;
      std::optional<MaskStep>& kind = is_constant ? causal : read;
      if (kind) return refuse("two masks stand between scores and softmax");
      kind = step;
    }
    if (causal) {
      const auto hidden =
          out_.queries == out_.keys ? hides_the_future(nodes_, *causal, out_.keys) : std::nullopt;
      if (!hidden && read) return refuse("two masks stand between scores and softmax");
      if (!hidden) return refuse("a constant mask hides other keys than those after the query");
      causal->hidden = *hidden;
      out_.is_causal = true;
    }
    if (!read) return {};
    TESSERA_TRY(out_.mask, mask_view(*read));
    out_.seen = read->seen;
    out_.chooses = read->chooses;
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

  Expected<HeadsView, Refusal> mask_view(const MaskStep& step) {
    out_.mask_dtype = f_.type(step.mask).dtype();
    if (!step.chooses && out_.mask_dtype != out_.dtype && out_.mask_dtype != kFloat32) {
      return refuse("the mask is {}", to_string(out_.mask_dtype));
    }
    TESSERA_TRY(Sizes dims, nodes_.sizes(step.mask));
    TESSERA_TRY(const Sizes scores, nodes_.sizes(step.scores));
    if (scores.size() != 3 && scores.size() != 4) {
      return refuse("the mask is for scores of rank {}", scores.size());
    }
    if (dims.size() > scores.size()) return refuse("the mask is of rank {}", dims.size());
    dims.insert(dims.begin(), scores.size() - dims.size(), 1);
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] != 1 && dims[i] != scores[i]) {
        return refuse("the mask's shape is {}", to_string(f_.type(step.mask).shape()));
      }
    }
    if (scores.size() == 3) {  // heads and batches are one dimension
      const bool repeats = dims[0] == 1;
      dims[0] = repeats ? 1 : out_.heads;
      dims.insert(dims.begin(), repeats ? 1 : out_.batch);
    }
    if (dims[3] != out_.keys) return refuse("the mask is the same for all keys");
    const Sizes sizes = {out_.batch, out_.heads, out_.queries, out_.keys};
    const auto stride = [&](std::size_t axis) {
      const bool repeats = dims[axis] == 1 && sizes[axis] != 1;
      return repeats ? 0 : count_of(std::span(dims).subspan(axis + 1));
    };
    return HeadsView{step.mask, 0, stride(0), stride(1), stride(2)};
  }

  const Nodes nodes_;
  const relay::Function& f_;
  std::vector<MaskStep> masks_;
  Sizes heads_;               // batches, and heads of each; empty: not known yet
  std::int64_t batches_ = 0;  // of matrices
  Attention out_;
};

}  // namespace

Expected<Attention, Refusal> describe(const relay::Match& match) { return Describer(match).run(); }

}  // namespace tessera::attention
