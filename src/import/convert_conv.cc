// SPDX-License-Identifier: Apache-2.0
// Convolution: Conv, ConvTranspose, ConvInteger, and Col2Im, which is the last half of a transposed
// one.
#include "import/activation.h"
#include "import/converters.h"
#include "import/window.h"

namespace tessera::import {
namespace {

Value biased_conv(Node& n) {
  const Value x = input(n, 0), y = convolve(x, weights_of(x, 1));
  if (!n.has_input(2)) return y;
  return {n, n.call("nn.bias_add", {y, weights_of(x, 2)}, {{"axis", 1}})};
}

std::vector<NodeId> convert_conv(Node& n) { return {biased_conv(n)}; }

// What is added comes before the activation.
std::vector<NodeId> convert_fused_conv(Node& n) {
  const std::vector<double> given = n.floats_attr("activation_params");
  const auto parameter = [&](std::size_t i) {
    return i < given.size() ? std::optional(given[i]) : std::nullopt;
  };
  const Activation activation{n.string_attr("activation", ""), parameter(0), parameter(1)};
  Value y = biased_conv(n);
  if (n.has_input(3)) y = y + input(n, 3);
  return {activation.name.empty() ? y : activate(y, activation)};
}

// Exact: the products of 8-bit numbers less their zero points are summed as int32.
std::vector<NodeId> convert_conv_integer(Node& n) {
  Value wide_x = input(n, 0).cast(kInt32), wide_w = input(n, 1).cast(kInt32);
  if (n.has_input(2)) wide_x = wide_x - input(n, 2).cast(kInt32).reshape({});
  if (n.has_input(3)) {
    const Value zero = input(n, 3).cast(kInt32);
    wide_w =
        wide_w - (product(zero.sizes()) == 1 ? zero.reshape({}) : along(zero, 0, wide_w.rank()));
  }
  return {convolve(wide_x, wide_w)};
}

// The spatial sizes of a transposed convolution's result, where the model states them.
Ints wanted_result(Node& n, std::size_t spatial) {
  Ints wanted = n.ints_attr("output_shape");
  if (wanted.size() > spatial)
    wanted.erase(wanted.begin(), wanted.end() - static_cast<std::ptrdiff_t>(spatial));
  if (!wanted.empty() && wanted.size() < spatial) {
    n.invalid(Code::kWrongAttribute, "output_shape does not fit the kernel");
  }
  check_extents(n, wanted);
  return wanted;
}

// What the full result has more than the wanted one, which without `wanted` is the input's size
// times the stride, whatever that size is.
std::int64_t surplus(Value x, const Window& w, const Ints& wanted, std::size_t i) {
  const std::int64_t reach = (w.kernel[i] - 1) * w.dilations[i] + 1;
  if (wanted.empty()) return reach - w.strides[i];
  Node& n = x.node();
  const auto size = x.dim(static_cast<std::int64_t>(i) + 2).as_constant();
  if (!size) n.unsupported("an output_shape for an input of open size");
  check_extents(n, {*size});
  return (*size - 1) * w.strides[i] + reach - wanted[i];
}

// The pads of a transposed convolution: given, or such that the result has `output_shape`.
void set_pads_for_output(Value x, Window& w, Ints& output_padding) {
  Node& n = x.node();
  const std::string automatic = n.string_attr("auto_pad", "NOTSET");
  const std::size_t spatial = w.kernel.size();
  const Ints wanted = wanted_result(n, spatial);
  if (output_padding.size() != spatial) {
    n.invalid(Code::kWrongAttribute, "output_padding does not fit the kernel");
  }
  check_extents(n, output_padding);
  if (automatic != "NOTSET") w.pads.assign(2 * spatial, 0);
  const bool same = automatic.starts_with("SAME");
  if (wanted.empty() && !same) return;
  for (std::size_t i = 0; i < spatial; ++i) {
    const std::int64_t total = surplus(x, w, wanted, i) + output_padding[i];
    // A result larger than the full one is filled up at its end.
    if (total < 0) output_padding[i] -= total;
    const std::int64_t cut = std::max<std::int64_t>(total, 0);
    const std::int64_t less = cut / 2, more = cut - less;
    w.pads[i] = automatic == "SAME_UPPER" ? less : more;
    w.pads[i + spatial] = cut - w.pads[i];
  }
}

std::vector<NodeId> convert_conv_transpose(Node& n) {
  const Value x = input(n, 0), w = weights_of(x, 1);
  const std::size_t spatial = spatial_rank(n, x);
  const Ints weight = w.sizes();
  Window window = read_steps(n, kernel_of(x, w));
  Ints output_padding = n.ints_attr("output_padding", Ints(spatial, 0));
  set_pads_for_output(x, window, output_padding);
  const std::int64_t groups = groups_of(n);
  const NodeId y = n.call(ranked("nn.conv", spatial) + "_transpose", {x, w},
                          {{"channels", weight[1] * groups},
                           {"kernel_size", window.kernel},
                           {"strides", window.strides},
                           {"output_padding", output_padding},
                           {"padding", window.pads},
                           {"dilation", window.dilations},
                           {"groups", groups}});
  if (!n.has_input(2)) return {y};
  return {n.call("nn.bias_add", {y, weights_of(x, 2)}, {{"axis", 1}})};
}

// Column (c, k) of place p is added where a transposed convolution with the identity as its weight
// puts it.
Value col2im(Value x, const Ints& image, const Ints& block) {
  Node& n = x.node();
  const std::size_t spatial = block.size();
  if (x.rank() != 3 || image.size() != spatial || spatial < 1 || spatial > 3) {
    n.invalid(Code::kShapeMismatch, "its image and block have different dimensions");
  }
  check_extents(n, image);
  const Window w = read_steps(n, block);
  const std::int64_t taps = product(block), channels = x.size(1) / taps;
  Ints places, unit = {taps, 1};
  Ints output_padding(spatial, 0);
  for (std::size_t i = 0; i < spatial; ++i) {
    const std::int64_t reach = (block[i] - 1) * w.dilations[i] + 1;
    const std::int64_t padded = image[i] + w.pads[i] + w.pads[i + spatial];
    places.push_back((padded - reach) / w.strides[i] + 1);
    output_padding[i] = (padded - reach) % w.strides[i];
  }
  Ints columns = {x.size(0) * channels, taps};
  columns.insert(columns.end(), places.begin(), places.end());
  unit.insert(unit.end(), block.begin(), block.end());
  const Value weight(n,
                     n.call("eye", {}, {{"rows", taps}, {"columns", taps}, {"dtype", x.dtype()}}));
  const NodeId y =
      n.call(ranked("nn.conv", spatial) + "_transpose", {x.reshape(columns), weight.reshape(unit)},
             {{"channels", 1},
              {"kernel_size", block},
              {"strides", w.strides},
              {"output_padding", output_padding},
              {"padding", w.pads},
              {"dilation", w.dilations}});
  Ints result = {x.size(0), channels};
  result.insert(result.end(), image.begin(), image.end());
  return {n, n.reshape(y, result)};
}

// All shapes of blocks with so many elements.
std::vector<Ints> blocks_of(std::int64_t taps, std::size_t rank) {
  if (rank == 1) return {{taps}};
  std::vector<Ints> blocks;
  for (std::int64_t size = 1; size <= taps; ++size) {
    if (taps % size != 0) continue;
    for (Ints& block : blocks_of(taps / size, rank - 1)) {
      block.insert(block.begin(), size);
      blocks.push_back(std::move(block));
    }
  }
  return blocks;
}

// Has the image as many places for the block as there are columns?
bool has_places(Node& n, const Ints& image, const Ints& block, std::int64_t columns) {
  check_extents(n, image);
  const Window w = read_steps(n, block);
  Ints places;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const std::int64_t room =
        image[i] + w.pads[i] + w.pads[i + block.size()] - (block[i] - 1) * w.dilations[i] - 1;
    if (room < 0) return false;
    places.push_back(room / w.strides[i] + 1);
  }
  return product(places) == columns;
}

// Shapes that come at run time: the image is what the model states, and of the blocks that fit one
// is taken.
std::vector<NodeId> convert_col2im(Node& n) {
  const Value x = input(n, 0);
  const auto image = n.known_ints(1), block = n.known_ints(2);
  if (image && block) return {col2im(x, *image, *block)};
  const auto declared = n.declared_shape(0);
  if (!declared || declared->size() < 3 || declared->size() > 5 || x.rank() != 3 ||
      (*declared)[1] < 1) {
    n.need_constant(image ? 2 : 1, "a shape");
  }
  n.make_room(static_cast<double>(x.size(1)));
  const Ints stated(declared->begin() + 2, declared->end());
  const Value given = input(n, 2).cast(kInt64);
  std::optional<Value> result;
  for (const Ints& shape :
       block ? std::vector<Ints>{*block} : blocks_of(x.size(1) / (*declared)[1], stated.size())) {
    if (!has_places(n, stated, shape, x.size(2))) continue;
    const Value one = col2im(x, stated, shape);
    const Value is_given = equal(given, Value(n, n.ints(shape))).apply("all");
    result = result ? where(is_given, one, *result) : one;
  }
  if (!result) n.invalid(Code::kShapeMismatch, "no block fits its input and its result");
  return {*result};
}

constexpr Converter kConvTable[] = {
    {"Conv", 1, convert_conv},
    {"com.microsoft.FusedConv", 1, convert_fused_conv},
    {"ConvInteger", 10, convert_conv_integer},
    {"ConvTranspose", 1, convert_conv_transpose},
    {"Col2Im", 18, convert_col2im},
};

}  // namespace

extern const std::span<const Converter> conv_converters;
const std::span<const Converter> conv_converters = kConvTable;

}  // namespace tessera::import
