// SPDX-License-Identifier: Apache-2.0
#include "backends/onednn/integer_sums.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "backends/onednn/windows.h"

namespace tessera::backends::onednn {
namespace {

// The zero point as the model has it: of eight bits, before a cast and a view of it.
NodeId stored_zero(const Subject& s, NodeId id) {
  while (s.is_inside(id) && !s.is_constant(id)) id = s.operands(id)[0];
  return id;
}

}  // namespace

Expected<IntegerSource, Refusal> integer_source(const Subject& s, NodeId wide) {
  const bool is_shifted = s.op(wide) == "subtract";
  const NodeId cast = is_shifted ? s.operands(wide)[0] : wide;
  IntegerSource out{s.operands(cast)[0], {}, {0, 0}};
  const DType dtype = s.dtype(out.bytes);
  if (!dtype.is_byte()) return refuse("data type {} has no eight bits", to_string(dtype));
  if (!is_shifted) return out;
  if (s.shape(wide) != s.shape(out.bytes))
    return refuse("the zero point widens what it is subtracted from");
  out.zero = stored_zero(s, s.operands(wide)[1]);
  if (num_elements(s.shape(out.zero)) != Dim(1)) {
    return refuse("there is a zero point for each of several parts");
  }
  const auto known = s.scalar(out.zero);
  if (!known && s.dtype(out.zero) != dtype) {
    return refuse("the zero point is not known to be of eight bits");
  }
  const auto zero = static_cast<std::int64_t>(known.value_or(0));
  out.zeros = known ? IntegerRange{zero, zero} : range_of_bytes(dtype);
  if (known && zero == 0) out.zero = {};
  return out;
}

namespace {

std::int64_t largest_magnitude(const Tensor& t) {
  std::int64_t largest = 0;
  for (std::int64_t i = 0; i < t.num_elements(); ++i) {
    largest = std::max(largest, std::abs(element_as_int(t, i)));
  }
  return largest;
}

// The post-operations for what follows the convolution, step by step from the core outwards.
class Tail {
 public:
  Tail(const Subject& s, Kernel& kernel, std::size_t axis, std::int64_t largest)
      : s_(s),
        kernel_(kernel),
        result_(s.shape(s.capture("core"))),
        axis_(axis),
        largest_(largest) {}

  std::optional<Refusal> run() {
    std::vector<NodeId> steps;
    for (NodeId at = s_.match().root; at != s_.capture("core"); at = s_.operands(at)[chain(at)]) {
      steps.push_back(at);
    }
    // The library's float32 of the sum alone is what a cast makes of it, whatever its size. What a
    // zero point takes off it is taken off later.
    const bool is_cast = !steps.empty() && s_.op(steps.back()) == "cast";
    if (largest_ > kMostExactInFloat32 && (kernel_.find("zero_point") != nullptr || !is_cast))
      return too_large();
    for (std::size_t i = steps.size(); i-- > 0;) {
      if (auto why = step(steps[i])) return why;
    }
    return std::nullopt;
  }

 private:
  // Which operand comes from the core: the others are constants, or the match's inputs.
  std::size_t chain(NodeId id) const {
    const auto operands = s_.operands(id);
    const auto is_link = [&](NodeId o) { return s_.is_inside(o) && !s_.is_constant(o); };
    return static_cast<std::size_t>(std::ranges::find_if(operands, is_link) - operands.begin());
  }
  NodeId other(NodeId id) const { return s_.operands(id)[1 - chain(id)]; }

  Refusal too_large() const {
    return Refusal{fmt::format("its sums are up to {}, and float32 has all integers up to {} only",
                               largest_, kMostExactInFloat32)};
  }

  static std::optional<Refusal> not_float32() { return Refusal{"the sums become no float32"}; }

  std::optional<Refusal> step(NodeId id) {
    const std::string_view op = s_.op(id);
    if (s_.shape(id) != result_) return Refusal{"what follows widens the result"};
    if (op == "cast" && s_.dtype(id).is_byte()) return narrow(id);
    if (op == "cast") return s_.dtype(id) == kFloat32 ? std::nullopt : not_float32();
    if (op == "round") return eltwise("eltwise_round");
    if (op == "nn.relu") return eltwise("eltwise_relu");
    if (op == "add") return s_.dtype(id) == kInt32 ? add_integers(other(id)) : add(other(id));
    if (op == "multiply") return binary("binary_mul", other(id));
    if (op == "divide") return divide(id);
    if (op == "nn.bias_add") return bias_add(id);
    if (op == "maximum") return limit(other(id), least_);
    return limit(other(id), most_);
  }

  std::optional<Refusal> eltwise(std::string algorithm, double alpha = 0, double beta = 0) {
    kernel_.post_ops.push_back({std::move(algorithm), -1, alpha, beta});
    return std::nullopt;
  }

  std::optional<Refusal> binary(std::string algorithm, NodeId operand) {
    const Shape given = s_.shape(operand);
    const bool is_of_channels = is_along(given, result_, axis_);
    if (!is_of_channels && num_elements(given) != Dim(1)) {
      return Refusal{"what follows has numbers for other parts of the result than channels"};
    }
    add_step(std::move(algorithm), operand, is_of_channels);
    return std::nullopt;
  }

  // A product's own scales and bias are applied before all post-operations, in a third of the time
  // that these take.
  bool takes_as_its_own(std::string_view algorithm, NodeId operand, bool is_of_channels) {
    const bool is_first =
        kernel_.kind != "binary" && kernel_.post_ops.empty() && kernel_.find("bias") == nullptr;
    if (!is_first || s_.dtype(operand) != kFloat32) return false;
    const Dim count = is_of_channels ? result_[axis_] : Dim(1);
    if (algorithm == "binary_mul" && kernel_.find("weight_scale") == nullptr) {
      kernel_.add_operand(operand, "weight_scale", View::of({count}));
      return true;
    }
    if (algorithm != "binary_add" || !is_of_channels) return false;
    kernel_.add_operand(operand, "bias",
                        View::of(kernel_.kind == "matmul" ? Shape{1, count} : Shape{count}));
    return true;
  }

  // The channels are the last dimension of a product's rows, as the kernel sees them.
  void add_step(std::string algorithm, NodeId operand, bool is_of_channels) {
    if (takes_as_its_own(algorithm, operand, is_of_channels)) return;
    Shape dims(kernel_.result_dims.size(), 1);
    if (is_of_channels) dims[std::min(axis_, dims.size() - 1)] = result_[axis_];
    const int at = kernel_.add_operand(operand, "post_op", View::of(dims));
    kernel_.post_ops.push_back({std::move(algorithm), at});
  }

  std::optional<Refusal> bias_add(NodeId id) {
    std::int64_t axis = s_.integer(id, "axis");
    axis += axis < 0 ? static_cast<std::int64_t>(result_.size()) : 0;
    if (static_cast<std::size_t>(axis) != axis_) {
      return Refusal{"its bias is along another dimension than that of the channels"};
    }
    add_step("binary_add", other(id), true);
    return std::nullopt;
  }

  std::optional<Refusal> divide(NodeId id) {
    if (chain(id) != 0) return Refusal{"a number is divided by the result"};
    return binary("binary_div", other(id));
  }

  std::optional<Refusal> add_integers(NodeId bias) {
    const Tensor* tensor = s_.tensor(bias);
    if (tensor == nullptr) return Refusal{"the bias is not known"};
    largest_ += largest_magnitude(*tensor);
    if (largest_ > kMostExactInFloat32) return too_large();
    return binary("binary_add", bias);
  }

  std::optional<Refusal> add(NodeId operand) {
    const auto number = s_.scalar(operand);
    return number ? eltwise("eltwise_linear", 1, *number) : binary("binary_add", operand);
  }

  std::optional<Refusal> limit(NodeId operand, std::optional<double>& bound) const {
    bound = s_.scalar(operand);
    if (bound) return std::nullopt;
    return Refusal{"a limit of the result is not known"};
  }

  // The library rounds, to even numbers, too, and cuts off at the type's limits itself.
  std::optional<Refusal> narrow(NodeId id) {
    const IntegerRange range = range_of_bytes(s_.dtype(id));
    if (!least_ || !most_ || *least_ > *most_) return Refusal{"the result has no limits"};
    const bool is_whole = *least_ == std::trunc(*least_) && *most_ == std::trunc(*most_);
    const auto least = static_cast<double>(range.least), most = static_cast<double>(range.most);
    if (*least_ < least || *most_ > most || !is_whole) {
      return Refusal{"the limits of the result are none of its type"};
    }
    if (*least_ != least || *most_ != most) return eltwise("eltwise_clip", *least_, *most_);
    auto& ops = kernel_.post_ops;
    if (!ops.empty() && ops.back().algorithm == "eltwise_round") ops.pop_back();
    return std::nullopt;
  }

  const Subject& s_;
  Kernel& kernel_;
  const Shape result_;
  const std::size_t axis_;  // of the channels
  std::int64_t largest_;    // magnitude of the sums
  std::optional<double> least_, most_;
};

}  // namespace

std::optional<Refusal> add_integers(const Subject& s, const IntegerSource& source, int weights,
                                    const WeightOrder& order, std::size_t axis, Kernel& kernel) {
  KernelOperand& operand = kernel.operands[static_cast<std::size_t>(weights)];
  const Tensor* tensor = s.tensor(operand.value);
  if (tensor == nullptr || tensor->dtype != kInt32) return Refusal{"the weight is not known"};
  const auto sum = largest_sum(*tensor, order, range_of_bytes(s.dtype(source.bytes)), source.zeros);
  if (!sum) return Refusal{"a weight without its zero point is no integer of eight bits"};
  operand.stored = kInt8;
  if (source.zero) {
    kernel.add_operand(source.zero, "zero_point", Shape{1});
    if (s.is_constant(source.zero)) kernel.operands.back().stored = kInt32;
  }
  return Tail(s, kernel, axis, *sum).run();
}

std::optional<Refusal> add_requantisation(const Subject& s, std::size_t axis, Kernel& kernel) {
  return Tail(s, kernel, axis, 0).run();
}

}  // namespace tessera::backends::onednn
