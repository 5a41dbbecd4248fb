// SPDX-License-Identifier: Apache-2.0
#include "schedule/grouped_convolution.h"

#include <algorithm>

#include "schedule/window_sum.h"
#include "tir/compare.h"
#include "tir/simplify.h"

namespace tessera::schedule {
namespace {

using tir::Expr;
using tir::IndexForm;

// 0: it is no number.
std::int64_t known_size(const tir::Buffer& b, std::size_t dimension) {
  const std::int64_t* n = tir::as_int(b->shape[dimension]);
  return n != nullptr ? *n : 0;
}

class GroupRoles {
 public:
  explicit GroupRoles(ElementSum sum) : out_{std::move(sum), {}, {}, {}, {}} {
    std::vector<Loop> all = out_.sum.loops;
    const auto& terms = out_.sum.reduction.loops;
    all.insert(all.end(), terms.begin(), terms.end());
    bounds_ = bounds_of(all);
  }

  std::optional<GroupedConvolution> run() {
    const Reduction& r = out_.sum.reduction;
    const auto* product = r.value.as<tir::Mul>();
    const auto* start = r.identity.as<tir::FloatImm>();
    if (product == nullptr || start == nullptr || start->value != 0 ||
        r.step.as<tir::Add>() == nullptr || r.target->dtype != kFloat32) {
      return std::nullopt;
    }
    for (const bool swapped : {false, true}) {
      const auto image = image_read(swapped ? product->b : product->a);
      const auto weight = image_read(swapped ? product->a : product->b);
      if (image && weight && !weight->condition && take(*image, *weight->load)) {
        return std::move(out_);
      }
    }
    return std::nullopt;
  }

 private:
  bool take(const ImageRead& image, const tir::Load& weight) {
    const tir::Buffer &x = image.load->buffer, &w = weight.buffer;
    if (x->shape.size() != 4 || w->shape.size() != 4) return false;
    out_.product.image = x;
    out_.product.weight = w;
    const auto& at = image.load->indices;
    return has_channels_in_vectors() && take_weight(weight) && take_image_number(at[0]) &&
           take_window(out_.row, at[1], weight.indices[0]) &&
           take_window(out_.column, at[2], weight.indices[1]) && is_channel(at[3], weight) &&
           are_all_loops() && sees_border(image);
  }

  bool has_channels_in_vectors() const {
    const tir::Buffer &x = out_.product.image, &w = out_.product.weight;
    const std::int64_t channels = known_size(x, 3), results = known_size(w, 3),
                       of_group = known_size(w, 2);
    const bool is_narrow = x->dtype == kFloat16 || x->dtype == kBFloat16;
    if (!is_narrow || w->dtype != x->dtype || of_group < 1 || channels % of_group != 0) {
      return false;
    }
    const std::int64_t groups = channels / of_group;
    return groups > 1 && of_group % tir::kAlignedChannels == 0 && results % groups == 0 &&
           results / groups % kGroupedLanes == 0;
  }

  // Each of its indices is a loop of its own, or 0 along a dimension of one element.
  bool take_weight(const tir::Load& weight) {
    const Reduction& r = out_.sum.reduction;
    std::size_t terms = 0;
    for (std::size_t d = 0; d < 3; ++d) {
      const auto loop = loop_of(weight.indices[d], r.loops);
      if (loop ? loop->size() != known_size(weight.buffer, d) : known_size(weight.buffer, d) != 1)
        return false;
      terms += loop ? 1 : 0;
    }
    const auto result = loop_of(weight.indices[3], out_.sum.loops);
    if (!result || result->size() != known_size(weight.buffer, 3)) return false;
    out_.result = *result;
    return terms == r.loops.size() && result->var.same_as(out_.sum.loops.back().var);
  }
  static std::optional<Loop> loop_of(const Expr& index, const std::vector<Loop>& loops) {
    for (const Loop& l : loops) {
      if (l.var.same_as(index)) return l;
    }
    return std::nullopt;
  }

  bool take_image_number(const Expr& index) {
    out_.image.loop = loop_of(index, out_.sum.loops);
    return out_.image.loop || tir::is_int(index, 0);
  }

  // `place * stride + step * dilation - before`
  bool take_window(GroupedDimension& to, const Expr& index, const Expr& step) {
    const IndexForm form = tir::index_form(index, bounds_);
    to.before = -form.constant;
    for (const tir::IndexTerm& t : form.terms) {
      if (t.atom.same_as(step)) {
        to.steps.dilation = t.coefficient;
        continue;
      }
      const auto loop = loop_of(t.atom, out_.sum.loops);
      if (!loop || to.loop) return false;
      to.loop = loop;
      to.steps.stride = t.coefficient;
    }
    return to.steps.dilation > 0 && to.steps.stride > 0;
  }

  bool is_channel(const Expr& index, const tir::Load& weight) const {
    const tir::WindowProduct& p = out_.product;
    const Expr group = tir::floor_div(weight.indices[3], Expr(p.results_of_group()));
    const Expr channel = group * Expr(p.channels_of_group()) + weight.indices[2];
    return tir::equal(tir::simplify(index, bounds_), tir::simplify(channel, bounds_));
  }

  bool are_all_loops() const {
    std::size_t found = 1;  // the results'
    for (const GroupedDimension* d : {&out_.image, &out_.row, &out_.column})
      found += d->loop ? 1 : 0;
    return found == out_.sum.loops.size() &&
           std::all_of(out_.sum.loops.begin(), out_.sum.loops.end(),
                       [](const Loop& l) { return l.size() > 0; });
  }

  // Is the condition that of being inside of the image, as far as that is in question? Each of its
  // sides is a form that is not negative.
  bool sees_border(const ImageRead& image) const {
    std::vector<IndexForm> wanted;
    for (const std::size_t d : {1, 2}) {
      const Expr& at = image.load->indices[d];
      wanted.push_back(tir::index_form(at, bounds_));
      wanted.push_back(tir::index_form(image.load->buffer->shape[d] - Expr(1) - at, bounds_));
    }
    std::vector<bool> is_there(wanted.size(), false);
    if (image.condition && !take_sides(image.condition, wanted, is_there)) return false;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const tir::Interval range = tir::range_of(wanted[i], bounds_);
      if (!is_there[i] && !(range.has_min() && range.min >= 0)) return false;
    }
    return true;
  }
  bool take_sides(const Expr& condition, const std::vector<IndexForm>& wanted,
                  std::vector<bool>& is_there) const {
    if (const auto* both = condition.as<tir::And>()) {
      return take_sides(both->a, wanted, is_there) && take_sides(both->b, wanted, is_there);
    }
    IndexForm form;
    if (const auto* less = condition.as<tir::Lt>()) {
      form = tir::index_form(less->b - less->a - Expr(1), bounds_);
    } else if (const auto* at_most = condition.as<tir::Le>()) {
      form = tir::index_form(at_most->b - at_most->a, bounds_);
    } else {
      return false;
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const IndexForm rest = tir::add(form, wanted[i], -1);
      if (!rest.is_constant() || rest.constant != 0) continue;
      is_there[i] = true;
      return true;
    }
    return false;
  }

  GroupedConvolution out_;
  tir::Bounds bounds_;
};

}  // namespace

std::optional<GroupedConvolution> recognise_grouped(const Nest& nest) {
  auto sum = as_element_sum(nest);
  if (!sum || sum->loops.empty()) return std::nullopt;
  return GroupRoles(std::move(*sum)).run();
}

}  // namespace tessera::schedule
