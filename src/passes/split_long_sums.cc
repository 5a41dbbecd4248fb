// SPDX-License-Identifier: Apache-2.0
// A back end that goes on in float32 with its sums of integers of eight bits takes none that could
// be larger than float32 is exact. Such products and convolutions become sums in int32 of parts of
// their terms, whole channels each: the same numbers, and as many multiplications. Where all that
// becomes of the sums is float32, and no zero point is taken off them, the back end's rounding is
// theirs, and nothing is split.
#include <algorithm>
#include <cstring>

#include "constants/integer_sums.h"
#include "ops/attrs/conv.h"
#include "passes/pass.h"
#include "passes/quantized_values.h"
#include "passes/row_product.h"
#include "relay/operator.h"

namespace tessera::passes {
namespace {

using relay::Copier;
using relay::Function;
using relay::NodeId;
using Ints = std::vector<std::int64_t>;

// sum((x - zero) * w), the weight a constant of int32.
struct Sum {
  Quantized x;
  const Tensor* weight;
  std::size_t x_axis, weight_axis;  // of the input channels
  WeightOrder order;
  std::int64_t terms_of_channel;
};

class Splitter {
 public:
  Splitter(const Function& f, const ConstantPool& pool, const relay::OperatorTable& operators)
      : f_(f), values_(f, pool, operators), uses_(f) {}

  Function run() const {
    return relay::rewrite(f_, [&](Copier& c, NodeId id) -> std::optional<NodeId> {
      const auto sum = described(id);
      if (!sum || (becomes_float32(id) && !values_.has_zero_point(sum->x))) return std::nullopt;
      const std::int64_t width = width_of_parts(*sum);
      if (width <= 0 || width >= channels(*sum)) return std::nullopt;
      std::optional<NodeId> total;
      for (std::int64_t first = 0; first < channels(*sum); first += width) {
        const std::int64_t end = std::min(first + width, channels(*sum));
        const NodeId next = part(c, id, *sum, first, end);
        total = total ? values_.call(c, "add", {*total, next}) : next;
      }
      return total;
    });
  }

 private:
  bool becomes_float32(NodeId id) const {
    return !uses_.is_result(id) && std::ranges::all_of(uses_.of(id), [&](NodeId reader) {
      return relay::is_call_of(f_, reader, "cast") && f_.type(reader).dtype() == kFloat32;
    });
  }
  std::int64_t channels(const Sum& s) const { return s.weight->shape[s.weight_axis]; }

  std::optional<Sum> described(NodeId id) const {
    const relay::Operator* op = f_.op(id);
    const bool is_conv = op != nullptr && (op->name == "nn.conv1d" || op->name == "nn.conv2d" ||
                                           op->name == "nn.conv3d");
    const bool is_product = op != nullptr && (op->name == "nn.dense" || op->name == "nn.matmul");
    if ((!is_conv && !is_product) || f_[id].region != Function::kBody) return std::nullopt;
    if (!f_.type(id).is_tensor() || f_.type(id).dtype() != kInt32) return std::nullopt;
    const auto x = values_.find(f_.operands(id)[0], kInt32);
    const auto* weight = f_.as<relay::Constant>(f_.operands(id)[1]);
    if (!x || weight == nullptr) return std::nullopt;
    const Tensor* tensor = values_.constant(f_.operands(id)[1]);
    if (tensor == nullptr || tensor->dtype != kInt32) return std::nullopt;
    const Sum sum = {*x, tensor, 0, 0, {}, 0};
    return is_conv ? of_convolution(id, sum) : of_product(id, sum);
  }

  std::optional<Sum> of_convolution(NodeId id, Sum s) const {
    const auto p = relay::read_attrs<ops::Conv2DAttrs>(f_.as<relay::OpCall>(id)->attrs);
    if (p.groups != 1 || !p.data_layout.starts_with("NC") || !p.kernel_layout.starts_with("OI")) {
      return std::nullopt;
    }
    const Ints& shape = s.weight->shape;
    s.x_axis = s.weight_axis = 1;
    s.terms_of_channel = 1;
    for (std::size_t i = 2; i < shape.size(); ++i) s.terms_of_channel *= shape[i];
    const std::int64_t terms = shape[1] * s.terms_of_channel;
    s.order = weight_order(shape[0], terms, true);
    return s;
  }

  std::optional<Sum> of_product(NodeId id, Sum s) const {
    const Ints& shape = s.weight->shape;
    const std::size_t rank = f_.type(s.x.x).rank();
    if (shape.size() != 2 || rank < 2) return std::nullopt;
    const auto p = row_product(f_, id);
    if (!p) return std::nullopt;
    s.x_axis = rank - 1;
    s.weight_axis = p->has_rows_of_terms ? 1 : 0;
    s.terms_of_channel = 1;
    s.order = weight_order(shape[1 - s.weight_axis], shape[s.weight_axis], p->has_rows_of_terms);
    return s;
  }

  // So many channels that no part's sums are too large; 0: all may be one part, or parts of equal
  // width do not help.
  std::int64_t width_of_parts(const Sum& s) const {
    const IntegerRange x = range_of_bytes(f_.type(s.x.x).dtype());
    const IntegerRange zeros = zeros_of(s);
    const auto whole = largest_sum(*s.weight, s.order, x, zeros);
    if (!whole || *whole <= kMostExactInFloat32) return 0;
    const std::int64_t least = *whole / kMostExactInFloat32 + 1;
    for (std::int64_t parts = least; parts <= std::min(2 * least, channels(s)); ++parts) {
      const std::int64_t width = (channels(s) + parts - 1) / parts;
      if (fits(s, width, x, zeros)) return width;
    }
    return 0;
  }

  IntegerRange zeros_of(const Sum& s) const {
    if (!values_.has_zero_point(s.x)) return {0, 0};
    const Tensor* known = values_.constant(s.x.zero);
    if (known == nullptr || known->num_elements() != 1) {
      return range_of_bytes(f_.type(s.x.x).dtype());
    }
    const std::int64_t zero = element_as_int(*known, 0);
    return {zero, zero};
  }

  static bool fits(const Sum& s, std::int64_t width, IntegerRange x, IntegerRange zeros) {
    const std::int64_t all = s.weight->shape[s.weight_axis];
    for (std::int64_t first = 0; first < all; first += width) {
      WeightOrder order = s.order;
      order.first = first * s.terms_of_channel * order.term_stride;
      order.terms = std::min(width, all - first) * s.terms_of_channel;
      const auto sum = largest_sum(*s.weight, order, x, zeros);
      if (!sum || *sum > kMostExactInFloat32) return false;
    }
    return true;
  }

  NodeId part(Copier& c, NodeId id, const Sum& s, std::int64_t first, std::int64_t end) const {
    const NodeId bytes = values_.call(c, "strided_slice", {c.map(s.x.x)},
                                      {{"begin", Ints{first}},
                                       {"end", Ints{end}},
                                       {"strides", Ints{1}},
                                       {"axes", Ints{static_cast<std::int64_t>(s.x_axis)}}});
    NodeId wide = values_.cast(c, bytes, kInt32);
    if (s.x.zero) wide = values_.call(c, "subtract", {wide, c.map(s.x.zero)});
    const NodeId weight = c.builder().constant(slice_of(s, first, end));
    const auto& call = *f_.as<relay::OpCall>(id);
    return c.builder().call(*call.op, {wide, weight}, call.attrs);
  }

  static Tensor slice_of(const Sum& s, std::int64_t first, std::int64_t end) {
    Ints shape = s.weight->shape;
    shape[s.weight_axis] = end - first;
    std::int64_t outer = 1, inner = 1;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (i < s.weight_axis) outer *= shape[i];
      if (i > s.weight_axis) inner *= shape[i];
    }
    const std::int64_t row = s.weight->shape[s.weight_axis] * inner;
    const auto from = s.weight->as<std::int32_t>();
    std::vector<std::int32_t> to;
    to.reserve(static_cast<std::size_t>(outer * (end - first) * inner));
    for (std::int64_t o = 0; o < outer; ++o) {
      to.insert(to.end(), from.begin() + o * row + first * inner,
                from.begin() + o * row + end * inner);
    }
    return Tensor::of(std::move(shape), kInt32, to);
  }

  const Function& f_;
  const QuantizedValues values_;
  const relay::Uses uses_;
};

Result<Module> run_split_long_sums(Module module, PassContext& context) {
  return map_optimizable(std::move(module), [&](const Function& f, const ConstantPool& pool) {
    return Splitter(f, pool, context.operators).run();
  });
}

}  // namespace

extern const Pass split_long_sums;
const Pass split_long_sums{
    .name = "split-long-sums",
    .summary =
        "splits products and convolutions of integers of eight bits whose sums float32 may not "
        "hold",
    .run = run_split_long_sums,
};

}  // namespace tessera::passes
