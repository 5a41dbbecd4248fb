// SPDX-License-Identifier: Apache-2.0
// Softmax and normalisation over channels; convert_row_norms.cc has that of rows.
#include "import/converters.h"
#include "import/value.h"

namespace tessera::import {
namespace {

// Until opset 12 everything from the axis on is one dimension.
struct Flattened {
  Value x;
  std::int64_t axis;
  Value whole;  // before
};

Flattened softmax_operand(Node& n) {
  const Value x = input(n, 0);
  Flattened f{x, n.axis_attr(n.opset() >= 13 ? -1 : 1, x), x};
  if (n.opset() < 13) f.x = x.merge(f.axis, x.rank());
  return f;
}

std::vector<NodeId> softmax_like(Node& n, std::string_view op) {
  const Flattened f = softmax_operand(n);
  return {f.x.apply(op, {{"axis", f.axis}}).unmerge(f.whole)};
}

std::vector<NodeId> convert_softmax(Node& n) { return softmax_like(n, "nn.softmax"); }
std::vector<NodeId> convert_log_softmax(Node& n) { return softmax_like(n, "nn.log_softmax"); }

// One at the first greatest element, zero elsewhere.
std::vector<NodeId> convert_hardmax(Node& n) {
  const Flattened f = softmax_operand(n);
  const Value place =
      f.x.apply("argmax", {{"axis", Ints{f.axis}}, {"keepdims", true}, {"dtype", kInt64}});
  const Value all = along(iota(n, f.x.size(f.axis)), f.axis, f.x.rank());
  return {equal(place, all).cast(f.x.dtype()).unmerge(f.whole)};
}

// Statistics of the batch itself, over all dimensions but that of the channels.
std::vector<NodeId> batch_norm_training(Node& n, double epsilon) {
  const Value x = input(n, 0);
  if (x.rank() < 2) n.invalid(Code::kShapeMismatch, "its input must have a batch and channels");
  Ints axes = range(0, x.rank());
  axes.erase(axes.begin() + 1);
  const Ints channels = {x.size(1)};
  const double momentum = n.float_attr("momentum", 0.9);
  const Value mean = x.mean(axes), deviation = x - mean;
  const Value variance = (deviation * deviation).mean(axes);
  const auto param = [&](std::size_t i) { return along(input(n, i), 1, x.rank()); };
  const Value y = deviation / (variance + epsilon).apply("sqrt") * param(1) + param(2);
  return {y, input(n, 3) * momentum + mean.reshape(channels) * (1 - momentum),
          input(n, 4) * momentum + variance.reshape(channels) * (1 - momentum)};
}

std::vector<NodeId> convert_batch_norm(Node& n) {
  const double epsilon = n.float_attr("epsilon", 1e-5);
  if (n.int_attr("spatial", 1) == 0) n.unsupported("spatial = 0");
  if (n.flag_attr("training_mode", false)) return batch_norm_training(n, epsilon);
  if (n.opset() < 7 && !n.flag_attr("is_test", false) && n.uses_output(1)) {
    n.unsupported("training mode");
  }
  n.ignore_attr("momentum");
  const NodeId x = n.input(0);
  const std::vector<NodeId> args = {x, n.cast(n.input(1), n.dtype(x)),
                                    n.cast(n.input(2), n.dtype(x)), n.cast(n.input(3), n.dtype(x)),
                                    n.cast(n.input(4), n.dtype(x))};
  return {n.project(n.call("nn.batch_norm", args, {{"axis", 1}, {"epsilon", epsilon}}), 0)};
}

std::vector<NodeId> convert_instance_norm(Node& n) {
  return {n.call("nn.instance_norm", {n.input(0), n.input(1), n.input(2)},
                 {{"axis", 1}, {"epsilon", n.float_attr("epsilon", 1e-5)}})};
}

// A group is what an instance norm calls a channel. Until opset 20 scale and bias are of groups.
std::vector<NodeId> convert_group_norm(Node& n) {
  const Value x = input(n, 0);
  const std::int64_t groups = n.need_int_attr("num_groups");
  n.ignore_attr("stash_type");
  if (groups < 1 || x.rank() < 2 || x.size(1) % groups != 0) {
    n.invalid(Code::kWrongAttribute, "num_groups does not divide its channels");
  }
  const double epsilon = n.float_attr("epsilon", 1e-5);
  const Dim members = Dim(x.size(1) / groups) * num_elements(x.dims(2, x.rank()));
  const Value apart = x.reshape_to({x.dim(0), Dim(groups), members});
  const Value mean = apart.mean({2}), deviation = apart - mean;
  const Value variance = (deviation * deviation).mean({2});
  const Value normal = deviation / (variance + epsilon).apply("sqrt");
  if (n.opset() < 21) {
    return {(normal * along(input(n, 1), 1, 3) + along(input(n, 2), 1, 3)).reshape_to(x.shape())};
  }
  return {normal.reshape_to(x.shape()) * along(input(n, 1), 1, x.rank()) +
          along(input(n, 2), 1, x.rank())};
}

std::vector<NodeId> convert_lp_norm(Node& n) {
  const Value x = input(n, 0);
  const Ints axes = {n.axis_attr(-1, x)};
  const Value norm =
      n.int_attr("p", 2) == 1 ? x.apply("abs").sum(axes) : (x * x).sum(axes).apply("sqrt");
  // What has no length stays zero.
  return {x / where(equal(norm, 0.0), norm.number(1), norm)};
}

std::vector<NodeId> convert_lrn(Node& n) {
  return {n.call("nn.lrn", {n.input(0)},
                 {{"size", n.need_int_attr("size")},
                  {"axis", 1},
                  {"bias", n.float_attr("bias", 1)},
                  {"alpha", n.float_attr("alpha", 1e-4)},
                  {"beta", n.float_attr("beta", 0.75)}})};
}

std::vector<NodeId> convert_mean_variance(Node& n) {
  const Value x = input(n, 0);
  const Ints axes = n.ints_attr("axes", {0, 2, 3});
  const Value deviation = x - x.mean(axes);
  return {deviation / ((deviation * deviation).mean(axes).apply("sqrt") + 1e-9)};
}

// Inference: the identity. The mask, if asked for, is true everywhere.
std::vector<NodeId> convert_dropout(Node& n) {
  const NodeId x = n.input(0);
  for (const char* hint : {"ratio", "seed", "is_test"}) n.ignore_attr(hint);
  if (n.has_input(1)) n.ignore_input(1);
  const auto zero = [&](std::size_t i) {
    const auto tensor = n.known_number(i);
    return tensor && element_as_double(*tensor, 0) == 0;
  };
  if (n.has_input(2) && !zero(2) && !(n.has_input(1) && zero(1))) {
    n.unsupported("training mode, which draws random numbers,");
  }
  if (!n.uses_output(1)) return {x};
  const DType mask = n.opset() < 10 ? n.dtype(x) : kBool;
  return {x, n.call("full", {n.scalar(1, mask)}, {{"shape", n.sizes(x)}, {"dtype", mask}})};
}

constexpr Converter kNormalizeTable[] = {
    {"Softmax", 1, convert_softmax},
    {"LogSoftmax", 1, convert_log_softmax},
    {"Hardmax", 1, convert_hardmax},
    {"BatchNormalization", 1, convert_batch_norm},
    {"InstanceNormalization", 1, convert_instance_norm},
    {"GroupNormalization", 18, convert_group_norm},
    {"LpNormalization", 1, convert_lp_norm},
    {"LRN", 1, convert_lrn},
    {"MeanVarianceNormalization", 9, convert_mean_variance},
    {"Dropout", 1, convert_dropout},
};

}  // namespace

extern const std::span<const Converter> normalize_converters;
const std::span<const Converter> normalize_converters = kNormalizeTable;

}  // namespace tessera::import
