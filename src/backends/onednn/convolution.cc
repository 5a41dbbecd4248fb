// SPDX-License-Identifier: Apache-2.0
// Convolutions and pooling of one, two and three dimensions, in the library's own layouts: source
// and result have none until the plan chooses.
#include <algorithm>
#include <set>

#include "backends/onednn/describe.h"
#include "backends/onednn/epilogue.h"
#include "backends/onednn/windows.h"

namespace tessera::backends::onednn {
namespace {

// Per channel, or the vector of nn.bias_add.
bool is_per_channel(const Subject& s, const EpilogueStep& step, const Shape& result) {
  if (s.op(step.node) == "nn.bias_add") return s.integer(step.node, "axis") == 1;
  return is_along(s.shape(step.other), result, 1);
}

std::optional<Refusal> add_epilogue(const Subject& s, const std::vector<EpilogueStep>& steps,
                                    Kernel& kernel) {
  bool has_bias = false;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    switch (step->kind) {
      case EpilogueKind::kView:
        return Refusal{"a view inside a convolution's epilogue"};
      case EpilogueKind::kScale:
        kernel.post_ops.push_back({"eltwise_linear", -1, step->factor, 0});
        break;
      case EpilogueKind::kActivation:
        kernel.post_ops.push_back(step->activation);
        break;
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

// A convolution or a deconvolution of float32 but for its weights, which `add_weights_and_padding`
// adds, and the padding that differs from what the operator says.
template <class Add>
KernelOr describe_windows(const Subject& s, std::string_view kind, const std::string& kernel_layout,
                          std::string_view activation_name, Add add_weights_and_padding) {
  const NodeId core = s.capture("core");
  TESSERA_TRY(Kernel kernel, windows(s, kind, kernel_layout, s.operands(core)[0]));
  TESSERA_TRY(auto steps, epilogue(s, core, activation_name));
  add_weights_and_padding(core, s.shape(core).size() - 2, kernel);
  if (auto why = add_epilogue(s, steps, kernel)) return Unexpected<Refusal>{*why};
  return kernel;
}

// Weights [I, O / groups, k...] as the library's [groups, O / groups, I / groups, k...], of which
// the outputs are not outermost in memory.
View transposed_weights(const Shape& dims, std::int64_t groups) {
  const Shape strides = row_major_strides(dims);
  const Dim inputs = floor_div(dims[0], Dim(groups));
  View view{{dims[1], inputs}, {strides[1], strides[0]}};
  view.dims.insert(view.dims.end(), dims.begin() + 2, dims.end());
  view.strides.insert(view.strides.end(), strides.begin() + 2, strides.end());
  if (groups == 1) return view;
  view.dims.insert(view.dims.begin(), Dim(groups));
  view.strides.insert(view.strides.begin(), inputs * strides[0]);
  return view;
}

// The library has no output padding: less padding at the end means the same.
void set_output_padding(const Subject& s, NodeId core, std::size_t spatial, Kernel& kernel) {
  Ints end = padding_of(s, core, spatial).end;
  const Ints more = s.ints(core, "output_padding");
  for (std::size_t i = 0; i < spatial; ++i) end[i] -= more[i];
  kernel.set("padding_end", end);
}

}  // namespace

KernelOr describe_convolution(const Subject& s, std::string_view activation_name) {
  if (auto why = s.refusal()) return Unexpected<Refusal>{*why};
  const std::string layout = s.text(s.capture("core"), "kernel_layout");
  return describe_windows(
      s, "convolution", layout, activation_name,
      [&](NodeId core, std::size_t, Kernel& kernel) { add_weights(s, core, kernel); });
}

KernelOr describe_deconvolution(const Subject& s, std::string_view activation_name) {
  if (auto why = s.refusal()) return Unexpected<Refusal>{*why};
  // Both orders of I and O mean the same weights: see ConvAttrs.
  std::string layout = s.text(s.capture("core"), "kernel_layout");
  if (layout.starts_with("IO")) std::swap(layout[0], layout[1]);
  return describe_windows(s, "deconvolution", layout, activation_name,
                          [&](NodeId core, std::size_t spatial, Kernel& kernel) {
                            const NodeId weights = s.operands(core)[1];
                            kernel.add_operand(
                                weights, "weights",
                                transposed_weights(s.shape(weights), s.integer(core, "groups")));
                            set_output_padding(s, core, spatial, kernel);
                          });
}

namespace {

// What the declared result needs at the end; with ceil_mode that is more than `padding` says.
Ints needed_padding(const Ints& data, const Ints& result, const Ints& window, const Ints& strides,
                    const Ints& dilation, const Padding& padding) {
  Ints end(window.size());
  for (std::size_t i = 0; i < window.size(); ++i) {
    const std::int64_t reach = (window[i] - 1) * dilation[i] + 1;
    end[i] = (result[i] - 1) * strides[i] + reach - data[i] - padding.begin[i];
    end[i] = std::max<std::int64_t>(end[i], 0);
  }
  return end;
}

struct ImageSizes {
  std::optional<Ints> data, result;
  bool are_known() const { return data && result; }
};

// Without ceil_mode it is what `padding` says. An image of nothing then has no result, so that no
// primitive is made for it, if no window fits into the borders alone.
Expected<Ints, Refusal> padding_end(const Subject& s, NodeId core, const ImageSizes& sizes) {
  const Ints window = s.ints(core, "pool_size"), dilation = s.ints(core, "dilation");
  const Padding padding = padding_of(s, core, window.size());
  if (sizes.are_known()) {
    return needed_padding(*sizes.data, *sizes.result, window, s.ints(core, "strides"), dilation,
                          padding);
  }
  if (s.integer(core, "ceil_mode") != 0) {
    return refuse("the size of an image is not known, and ceil_mode depends on it");
  }
  for (std::size_t i = 0; i < window.size(); ++i) {
    if (padding.begin[i] + padding.end[i] > (window[i] - 1) * dilation[i]) {
      return refuse("the size of an image is not known, and a window fits into its borders");
    }
  }
  return padding.end;
}

void add_global_window(const Subject& s, NodeId core, const Ints& window, Kernel& kernel) {
  const Ints zeros(window.size(), 0);
  const bool is_max = s.op(core).find("max") != std::string_view::npos;
  kernel.set("algorithm", is_max ? "pooling_max" : "pooling_avg_include_padding");
  kernel.set("window", window);
  kernel.set("strides", window);
  for (const char* name : {"padding_begin", "padding_end", "dilation"}) kernel.set(name, zeros);
}

}  // namespace

KernelOr describe_pooling(const Subject& s, std::string_view) {
  const NodeId core = s.capture("core");
  const bool is_max = s.op(core).find("max") != std::string_view::npos;
  const bool takes_bytes = is_max && s.dtype(core).is_byte();
  if (auto why = takes_bytes ? s.size_refusal() : s.refusal()) return Unexpected<Refusal>{*why};
  const Shape data = s.shape(s.operands(core)[0]), result = s.shape(core);
  const std::size_t spatial = data.size() - 2;
  const ImageSizes sizes = {constant_shape({data.begin() + 2, data.end()}),
                            constant_shape({result.begin() + 2, result.end()})};
  if (!has_data_layout(s, core, "layout", spatial)) {
    return refuse("layout {} is not taken", s.text(core, "layout"));
  }
  Kernel kernel;
  kernel.kind = "pooling";
  kernel.result_dims = result;
  kernel.add_operand(s.operands(core)[0], "source", data);
  if (s.op(core).find("global") != std::string_view::npos) {
    if (!sizes.are_known()) return refuse("the size of an image is not known");
    add_global_window(s, core, *sizes.data, kernel);
    return kernel;
  }
  add_geometry(s, core, spatial, kernel);
  const Padding padding = padding_of(s, core, spatial);
  TESSERA_TRY(const Ints end, padding_end(s, core, sizes));
  const bool include = !is_max && s.integer(core, "count_include_pad") != 0;
  for (std::size_t i = 0; include && i < spatial; ++i) {
    if (end[i] > padding.end[i]) return refuse("ceil_mode with padding that counts");
  }
  kernel.set("padding_end", end);
  kernel.set("window", s.ints(core, "pool_size"));
  kernel.set("algorithm", is_max    ? "pooling_max"
                          : include ? "pooling_avg_include_padding"
                                    : "pooling_avg_exclude_padding");
  return kernel;
}

KernelOr describe_image_mean(const Subject& s, std::string_view) {
  const NodeId core = s.capture("core");
  const NodeId read = s.operands(core)[0];
  const bool is_cast = s.is_inside(read);
  if (auto why = is_cast ? s.size_refusal() : s.refusal()) return Unexpected<Refusal>{*why};
  const NodeId image = is_cast ? s.operands(read)[0] : read;
  const DType dtype = s.dtype(image);
  if (dtype != s.dtype(s.match().root) || !dtype.is_float()) {
    return refuse("it is a mean in another type than the image's");
  }
  const Shape data = s.shape(image);
  const auto rank = static_cast<std::int64_t>(data.size());
  std::set<std::int64_t> axes;
  for (const std::int64_t axis : s.ints(core, "axis")) axes.insert(axis < 0 ? axis + rank : axis);
  if (s.integer(core, "exclude") != 0 || rank != 4 || axes != std::set<std::int64_t>{2, 3}) {
    return refuse("it is no mean over all of an image");
  }
  if (s.is_deviation(image)) return refuse("it is a part of a norm");
  if (s.op(image) == "cast") return refuse("generated code casts what it sums");
  const auto size = constant_shape({data.begin() + 2, data.end()});
  if (!size) return refuse("the size of an image is not known");
  Kernel kernel;
  kernel.kind = "pooling";
  kernel.result_dims = {data[0], data[1], Dim(1), Dim(1)};
  if (s.integer(core, "keepdims") == 0) {
    kernel.result_strides = row_major_strides(kernel.result_dims);
  }
  kernel.add_operand(image, "source", data);
  add_global_window(s, core, *size, kernel);
  return kernel;
}

}  // namespace tessera::backends::onednn
