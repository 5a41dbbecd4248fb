// SPDX-License-Identifier: Apache-2.0
// Convolutions of one, two and three dimensions, in the library's own layouts: source and result
// have none until the plan chooses.
#include <algorithm>

#include "backends/onednn/describe.h"
#include "backends/onednn/epilogue.h"

namespace tessera::backends::onednn {
namespace {

constexpr std::string_view kDataLayouts[] = {"NCW", "NCHW", "NCDHW"};
constexpr std::string_view kKernelLayouts[] = {"OIW", "OIHW", "OIDHW"};

// [begin..., end...], or one number a dimension for both ends.
std::optional<Ints> padding_end(const Ints& padding, std::size_t spatial) {
  if (padding.size() == spatial) return padding;
  if (padding.size() != 2 * spatial) return std::nullopt;
  return Ints(padding.begin() + static_cast<std::ptrdiff_t>(spatial), padding.end());
}

// Per channel: [C, 1...] or [1, C, 1...], or the vector of nn.bias_add.
bool is_per_channel(const Subject& s, const EpilogueStep& step, const Ints& result) {
  const Ints dims = s.shape(step.other);
  if (s.op(step.node) == "nn.bias_add") return s.integer(step.node, "axis") == 1;
  const std::size_t behind = result.size() - 2;
  if (dims.size() <= behind || count_of(dims) != result[1]) return false;
  return dims[dims.size() - 1 - behind] == result[1];
}

std::optional<Refusal> add_geometry(const Subject& s, NodeId core, std::size_t spatial,
                                    Kernel& kernel) {
  const Ints padding = s.ints(core, "padding");
  const auto end = padding_end(padding, spatial);
  if (!end) return Refusal{fmt::format("padding has {} numbers", padding.size())};
  kernel.set("padding_begin", Ints(padding.begin(), padding.begin() + static_cast<std::ptrdiff_t>(spatial)));
  kernel.set("padding_end", *end);
  kernel.set("strides", s.ints(core, "strides"));
  Ints dilation = s.ints(core, "dilation");
  for (std::int64_t& d : dilation) --d;  // oneDNN counts what is left out
  kernel.set("dilation", dilation);
  return std::nullopt;
}

// Weights [O, I / groups, k...], with groups as a dimension of their own.
void add_weights(NodeId weights, Ints dims, std::int64_t groups, Kernel& kernel) {
  if (groups != 1) {
    dims[0] /= groups;
    dims.insert(dims.begin(), groups);
  }
  kernel.add_operand(weights, "weights", View::of(std::move(dims)));
}

std::optional<Refusal> add_epilogue(const Subject& s, const std::vector<EpilogueStep>& steps,
                                    Kernel& kernel) {
  bool has_bias = false;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    switch (step->kind) {
      case EpilogueKind::kView: return Refusal{"a view inside a convolution's epilogue"};
      case EpilogueKind::kScale:
        kernel.post_ops.push_back({"eltwise_linear", -1, step->factor, 0});
        break;
      case EpilogueKind::kActivation: kernel.post_ops.push_back(step->activation); break;
      case EpilogueKind::kAdd:
        if (is_per_channel(s, *step, kernel.result_dims) && kernel.post_ops.empty() && !has_bias) {
          kernel.add_operand(step->other, "bias", View::of({kernel.result_dims[1]}));
          has_bias = true;
          break;
        }
        if (s.shape(step->other) != kernel.result_dims) {
          return Refusal{"what is added is neither per channel nor of the result's size"};
        }
        kernel.post_ops.push_back(
            {"binary_add", kernel.add_operand(step->other, "post_op", kernel.result_dims)});
        break;
    }
  }
  return std::nullopt;
}

}  // namespace

KernelOr describe_convolution(const Subject& s, std::string_view activation_name) {
  if (auto why = s.refusal()) return Unexpected<Refusal>{*why};
  const NodeId core = s.capture("core");
  const Ints data = s.shape(s.operands(core)[0]), weights = s.shape(s.operands(core)[1]);
  const std::size_t spatial = data.size() - 2;
  const std::string layout = s.text(core, "data_layout"), kernel_layout = s.text(core, "kernel_layout");
  if (spatial < 1 || spatial > 3 || layout != kDataLayouts[spatial - 1] ||
      kernel_layout != kKernelLayouts[spatial - 1]) {
    return refuse("layouts {} and {} are not taken", layout, kernel_layout);
  }
  TESSERA_TRY(auto steps, epilogue(s, core, activation_name));
  Kernel kernel;
  kernel.kind = "convolution";
  kernel.result_dims = s.shape(core);
  kernel.add_operand(s.operands(core)[0], "source", data);
  add_weights(s.operands(core)[1], weights, s.integer(core, "groups"), kernel);
  if (auto why = add_geometry(s, core, spatial, kernel)) return Unexpected<Refusal>{*why};
  if (auto why = add_epilogue(s, steps, kernel)) return Unexpected<Refusal>{*why};
  return kernel;
}

KernelOr describe_pooling(const Subject& s, std::string_view) {
  if (auto why = s.refusal()) return Unexpected<Refusal>{*why};
  const NodeId core = s.capture("core");
  const Ints data = s.shape(s.operands(core)[0]), result = s.shape(core);
  const std::size_t spatial = data.size() - 2;
  if (s.text(core, "layout") != kDataLayouts[spatial - 1]) {
    return refuse("layout {} is not taken", s.text(core, "layout"));
  }
  Kernel kernel;
  kernel.kind = "pooling";
  kernel.result_dims = result;
  kernel.add_operand(s.operands(core)[0], "source", data);
  const std::string_view op = s.op(core);
  const Ints zeros(spatial, 0);
  if (op.find("global") != std::string_view::npos) {
    kernel.set("algorithm", op.find("max") != std::string_view::npos ? "pooling_max"
                                                                     : "pooling_avg_include_padding");
    kernel.set("window", Ints(data.begin() + 2, data.end()));
    kernel.set("strides", Ints(data.begin() + 2, data.end()));
    for (const char* name : {"padding_begin", "padding_end", "dilation"}) kernel.set(name, zeros);
    return kernel;
  }
  if (auto why = add_geometry(s, core, spatial, kernel)) return Unexpected<Refusal>{*why};
  const Ints window = s.ints(core, "pool_size"), strides = s.ints(core, "strides");
  const Ints padding = s.ints(core, "padding"), dilation = s.ints(core, "dilation");
  const bool is_max = op.find("max") != std::string_view::npos;
  const bool include = !is_max && s.integer(core, "count_include_pad") != 0;
  // What the declared result needs at the end; with ceil_mode that is more than `padding` says.
  Ints end(spatial);
  for (std::size_t i = 0; i < spatial; ++i) {
    const std::int64_t reach = (window[i] - 1) * dilation[i] + 1;
    end[i] = (result[i + 2] - 1) * strides[i] + reach - data[i + 2] - padding[i];
    end[i] = std::max<std::int64_t>(end[i], 0);
    const std::int64_t declared = (*padding_end(padding, spatial))[i];
    if (include && end[i] > declared) return refuse("ceil_mode with padding that counts");
  }
  kernel.set("padding_end", end);
  kernel.set("window", window);
  kernel.set("algorithm", is_max    ? "pooling_max"
                          : include ? "pooling_avg_include_padding"
                                    : "pooling_avg_exclude_padding");
  return kernel;
}

}  // namespace tessera::backends::onednn
