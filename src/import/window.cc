// SPDX-License-Identifier: Apache-2.0
#include "import/window.h"

namespace tessera::import {
namespace {

// Products and sums of a few of these fit 64 bits.
constexpr std::int64_t kLargestStep = INT32_MAX;

// SAME_UPPER and SAME_LOWER: the output has ceil(input / stride) elements.
Ints same_pads(const Window& w, const Ints& input, bool upper) {
  const std::size_t n = w.kernel.size();
  Ints pads(2 * n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t out = (input[i + 2] + w.strides[i] - 1) / w.strides[i];
    const std::int64_t window = (w.kernel[i] - 1) * w.dilations[i] + 1;
    const std::int64_t total =
        std::max<std::int64_t>(0, (out - 1) * w.strides[i] + window - input[i + 2]);
    pads[i] = upper ? total / 2 : total - total / 2;
    pads[i + n] = total - pads[i];
  }
  return pads;
}

void check(Node& n, const Window& w) {
  const std::size_t spatial = w.kernel.size();
  if (w.strides.size() != spatial || w.dilations.size() != spatial ||
      w.pads.size() != 2 * spatial) {
    n.invalid(Code::kWrongAttribute,
              "strides, dilations or pads do not fit the kernel's dimensions");
  }
  for (const Ints* sizes : {&w.kernel, &w.strides, &w.dilations}) {
    for (const std::int64_t size : *sizes) {
      if (size < 1 || size > kLargestStep) {
        n.invalid(Code::kWrongAttribute,
                  fmt::format("kernel, strides and dilations must be 1 or more, at most {}",
                              kLargestStep));
      }
    }
  }
  for (const std::int64_t pad : w.pads) {
    if (pad < -kLargestStep || pad > kLargestStep) {
      n.invalid(Code::kWrongAttribute, fmt::format("its pads are at most {}", kLargestStep));
    }
  }
}

}  // namespace

std::int64_t groups_of(Node& n) {
  const std::int64_t groups = n.int_attr("group", 1);
  if (groups >= 1 && groups <= kLargestStep) return groups;
  n.invalid(Code::kWrongAttribute, fmt::format("it has {} groups", groups));
}

Window read_steps(Node& n, Ints kernel) {
  const std::size_t spatial = kernel.size();
  Window w;
  w.kernel = std::move(kernel);
  w.strides = n.ints_attr("strides", Ints(spatial, 1));
  w.dilations = n.ints_attr("dilations", Ints(spatial, 1));
  w.pads = n.ints_attr("pads", Ints(2 * spatial, 0));
  check(n, w);
  return w;
}

void check_extents(Node& n, const Ints& sizes) {
  for (const std::int64_t size : sizes) {
    if (size >= 0 && size <= kLargestStep) continue;
    n.invalid(Code::kWrongAttribute, fmt::format("a size of its image or padding is {}; {} is the "
                                                 "most that it can be",
                                                 size, kLargestStep));
  }
}

Window read_window(Node& n, NodeId input, Ints kernel) {
  const std::size_t spatial = kernel.size();
  if (static_cast<std::size_t>(n.rank(input)) != spatial + 2) {
    n.invalid(Code::kShapeMismatch,
              fmt::format("its input has {} dimensions, its kernel {}", n.rank(input), spatial));
  }
  Window w = read_steps(n, std::move(kernel));
  const std::string automatic = n.string_attr("auto_pad", "NOTSET");
  if (automatic != "NOTSET") w.pads.assign(2 * spatial, 0);
  if (automatic.starts_with("SAME")) {
    w.pads = same_pads(w, n.sizes(input), automatic == "SAME_UPPER");
  }
  return w;
}

Ints kernel_of(Value x, Value w) {
  Node& n = x.node();
  spatial_rank(n, x);
  const Ints weight = w.sizes();
  if (w.rank() != x.rank()) {
    n.invalid(Code::kShapeMismatch,
              fmt::format("its input has {} dimensions and its weight {}", x.rank(), w.rank()));
  }
  const Ints spatial(weight.begin() + 2, weight.end());
  const Ints kernel = n.ints_attr("kernel_shape", spatial);
  if (kernel != spatial) {
    n.invalid(Code::kWrongAttribute, "kernel_shape is not the shape of its weight");
  }
  return kernel;
}

Value convolve(Value x, Value w) {
  Node& n = x.node();
  const Window window = read_window(n, x, kernel_of(x, w));
  return {n, n.call(ranked("nn.conv", window.kernel.size()), {x, w},
                    {{"strides", window.strides},
                     {"padding", window.pads},
                     {"dilation", window.dilations},
                     {"groups", groups_of(n)},
                     {"channels", w.size(0)},
                     {"kernel_size", window.kernel}})};
}

Attrs pool_attrs(Node& n, const Window& w) {
  return {{"pool_size", w.kernel},
          {"strides", w.strides},
          {"dilation", w.dilations},
          {"padding", w.pads},
          {"ceil_mode", n.flag_attr("ceil_mode", false)}};
}

Window pool_window(Value x) {
  Node& n = x.node();
  Window w = read_window(n, x, n.need_ints_attr("kernel_shape"));
  if (w.kernel.size() == spatial_rank(n, x)) return w;
  n.invalid(Code::kWrongAttribute, "kernel_shape does not fit its input");
}

Value average_pool(Value x) {
  Node& n = x.node();
  const Window w = pool_window(x);
  Attrs attrs = pool_attrs(n, w);
  attrs.set("count_include_pad", n.flag_attr("count_include_pad", false));
  return x.apply(ranked("nn.avg_pool", w.kernel.size()), std::move(attrs));
}

std::size_t spatial_rank(Node& n, NodeId input) {
  const std::int64_t rank = n.rank(input);
  if (rank < 3 || rank > 5) n.unsupported(fmt::format("an input of {} dimensions", rank));
  return static_cast<std::size_t>(rank - 2);
}

std::string ranked(std::string_view op, std::size_t spatial) {
  return fmt::format("{}{}d", op, spatial);
}

}  // namespace tessera::import
