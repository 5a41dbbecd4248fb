// SPDX-License-Identifier: Apache-2.0
// Operators without a product: softmax, layer normalisation, sums, gates, factors and offsets of
// channels, concatenation.
#include <algorithm>

#include "backends/onednn/activation.h"
#include "backends/onednn/describe.h"
#include "backends/onednn/epilogue.h"

namespace tessera::backends::onednn {
namespace {

std::int64_t front_axis(const Subject& s, NodeId call, std::size_t rank) {
  const std::int64_t axis = s.integer(call, "axis");
  return axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
}

// The library reads these in float32 whatever it normalises.
std::optional<Refusal> add_factor(const Subject& s, NodeId value, const char* role,
                                  Kernel& kernel) {
  const int at = kernel.add_operand(value, role, View::of(s.shape(value)));
  if (s.dtype(value) == kFloat32) return std::nullopt;
  if (!s.is_constant(value)) {
    return Refusal{fmt::format("its {} is of {} and no constant", role, to_string(s.dtype(value)))};
  }
  kernel.operands[static_cast<std::size_t>(at)].stored = kFloat32;
  return std::nullopt;
}

// [n, c, 1, 1] beside [n, c, h, w], or the like of another rank.
bool is_by_channel(const Shape& dims, const Shape& image) {
  if (image.size() < 3 || dims.size() != image.size()) return false;
  return dims[0] == image[0] && dims[1] == image[1] && dims != image &&
         std::all_of(dims.begin() + 2, dims.end(), [](const Dim& d) { return d == Dim(1); });
}

// A constant of the composite with one element for each channel of the image: its dimensions under
// the image's rank.
std::optional<Shape> constant_of_channels(const Subject& s, NodeId value, const Shape& image) {
  if (!s.is_constant(value) || !s.is_inside(value) || image.size() < 3) return std::nullopt;
  Shape dims = s.shape(value);
  if (dims.size() > image.size()) return std::nullopt;
  dims.insert(dims.begin(), image.size() - dims.size(), Dim(1));
  Shape wanted(image.size(), Dim(1));
  wanted[1] = image[1];
  if (dims != wanted) return std::nullopt;
  return dims;
}

// What generated code computes in one piece with more before it, such as a norm of images.
bool belongs_to_generated_code(const Subject& s, NodeId image) {
  const std::string_view op = s.op(image);
  return op == "multiply" || op == "divide" || op == "subtract" || op == "reshape";
}

// After the core: offsets of channels and an activation.
std::optional<Refusal> add_steps(const Subject& s, const std::vector<EpilogueStep>& steps,
                                 Kernel& kernel) {
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    if (step->kind == EpilogueKind::kActivation) {
      kernel.post_ops.push_back(step->activation);
      continue;
    }
    const auto offset = step->kind == EpilogueKind::kAdd
                            ? constant_of_channels(s, step->other, kernel.result_dims)
                            : std::nullopt;
    if (!offset) return Refusal{"more than offsets of channels and an activation after it"};
    kernel.post_ops.push_back(
        {"binary_add", kernel.add_operand(step->other, "post_op", View::of(*offset))});
  }
  return std::nullopt;
}

}  // namespace

KernelOr describe_softmax(const Subject& s, std::string_view) {
  if (auto why = s.refusal()) return Unexpected<Refusal>{*why};
  const NodeId core = s.capture("core");
  Kernel kernel;
  kernel.kind = "softmax";
  kernel.result_dims = s.shape(core);
  kernel.result_strides = row_major_strides(kernel.result_dims);
  kernel.add_operand(s.operands(core)[0], "source", View::of(kernel.result_dims));
  kernel.set("axis", Ints{front_axis(s, core, kernel.result_dims.size())});
  kernel.set("algorithm", s.op(core) == "nn.log_softmax" ? "softmax_log" : "softmax_accurate");
  return kernel;
}

KernelOr describe_layer_norm(const Subject& s, std::string_view) {
  if (auto why = s.refusal()) return Unexpected<Refusal>{*why};
  const NodeId core = s.capture("core");
  const Shape shape = s.shape(core);
  if (front_axis(s, core, shape.size()) + 1 != static_cast<std::int64_t>(shape.size())) {
    return refuse("the axis is not the last one");
  }
  if (shape.size() < 2) return refuse("a vector has no rows to normalise");
  // Rows and columns: oneDNN has few ranks.
  const Shape rows = {floor_div(num_elements(shape), shape.back()), shape.back()};
  Kernel kernel;
  kernel.kind = "layer_norm";
  kernel.result_dims = rows;
  kernel.result_strides = row_major_strides(rows);
  const auto operands = s.operands(core);
  kernel.add_operand(operands[0], "source", View::of(rows));
  for (const auto& [flag, role, at] :
       {std::tuple("scale", "scale", 1), std::tuple("center", "shift", 2)}) {
    if (s.integer(core, flag) == 0) continue;
    if (auto why = add_factor(s, operands[static_cast<std::size_t>(at)], role, kernel))
      return Unexpected<Refusal>{*why};
  }
  kernel.set("epsilon", s.number(core, "epsilon"));
  return kernel;
}

KernelOr describe_binary(const Subject& s, std::string_view activation_name) {
  if (auto why = s.refusal()) return Unexpected<Refusal>{*why};
  const NodeId core = s.capture("core");
  const auto operands = s.operands(core);
  const Shape shape = s.shape(core);
  const bool is_second = s.is_constant(operands[1]);
  const NodeId image = operands[is_second ? 0 : 1], other = operands[is_second ? 1 : 0];
  const auto channels = constant_of_channels(s, other, shape);
  if (s.shape(image) != shape || (!channels && s.shape(other) != shape)) {
    return refuse("the operands differ in shape");
  }
  if (channels && belongs_to_generated_code(s, image)) return refuse("it is a part of a norm");
  if (!channels && s.op(core) != "add") return refuse("it has no factor for each channel");
  TESSERA_TRY(auto steps, epilogue(s, core, activation_name));
  Kernel kernel;
  kernel.kind = "binary";
  kernel.result_dims = shape;
  kernel.add_operand(channels ? image : operands[0], "source", shape);
  kernel.add_operand(channels ? other : operands[1], "second_source", channels ? *channels : shape);
  kernel.set("algorithm", s.op(core) == "add" ? "binary_add" : "binary_mul");
  if (auto why = add_steps(s, steps, kernel)) return Unexpected<Refusal>{*why};
  return kernel;
}

KernelOr describe_gate(const Subject& s, std::string_view) {
  if (auto why = s.refusal()) return Unexpected<Refusal>{*why};
  const NodeId core = s.capture("core");
  const Shape shape = s.shape(core);
  const auto operands = s.operands(core);
  const auto is_gate = [&](NodeId of) {
    return !s.is_constant(of) && is_by_channel(s.shape(of), shape);
  };
  const bool is_second = is_gate(operands[1]);
  const NodeId image = operands[is_second ? 0 : 1], gate = operands[is_second ? 1 : 0];
  if (!is_gate(gate) || s.is_constant(image) || s.shape(image) != shape) {
    return refuse("it is no product of an image with a factor for each channel");
  }
  if (s.is_deviation(image)) return refuse("it is a part of a norm");
  Kernel kernel;
  kernel.kind = "binary";
  kernel.result_dims = shape;
  kernel.add_operand(image, "source", shape);
  kernel.add_operand(gate, "second_source", s.shape(gate));
  kernel.set("algorithm", "binary_mul");
  return kernel;
}

KernelOr describe_concat(const Subject& s, std::string_view) {
  if (auto why = s.refusal()) return Unexpected<Refusal>{*why};
  const NodeId core = s.capture("core");
  const auto fields = s.operands(s.operands(core)[0]);
  if (fields.size() > 48) return refuse("{} operands are too many", fields.size());
  Kernel kernel;
  kernel.kind = "concat";
  kernel.result_dims = s.shape(core);
  for (const NodeId field : fields) kernel.add_operand(field, "source", s.shape(field));
  kernel.set("axis", Ints{front_axis(s, core, kernel.result_dims.size())});
  return kernel;
}

}  // namespace tessera::backends::onednn
