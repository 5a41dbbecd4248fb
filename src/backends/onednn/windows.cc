// SPDX-License-Identifier: Apache-2.0
#include "backends/onednn/windows.h"

namespace tessera::backends::onednn {
namespace {

constexpr std::string_view kDataLayouts[] = {"NCW", "NCHW", "NCDHW"};
constexpr std::string_view kKernelLayouts[] = {"OIW", "OIHW", "OIDHW"};

}  // namespace

Padding padding_of(const Subject& s, NodeId core, std::size_t spatial) {
  const Ints given = s.ints(core, "padding");
  if (given.size() == 1) return {Ints(spatial, given[0]), Ints(spatial, given[0])};
  if (given.size() == spatial) return {given, given};
  const auto middle = given.begin() + static_cast<std::ptrdiff_t>(spatial);
  return {Ints(given.begin(), middle), Ints(middle, given.end())};
}

bool has_data_layout(const Subject& s, NodeId core, std::string_view name, std::size_t spatial) {
  const std::string_view wanted = kDataLayouts[spatial - 1];
  const std::string out = s.text(core, "out_layout");
  return s.text(core, name) == wanted && (out.empty() || out == wanted);
}

void add_geometry(const Subject& s, NodeId core, std::size_t spatial, Kernel& kernel) {
  const Padding padding = padding_of(s, core, spatial);
  kernel.set("padding_begin", padding.begin);
  kernel.set("padding_end", padding.end);
  kernel.set("strides", s.ints(core, "strides"));
  Ints dilation = s.ints(core, "dilation");
  for (std::int64_t& d : dilation) --d;  // oneDNN counts what is left out
  kernel.set("dilation", dilation);
}

KernelOr windows(const Subject& s, std::string_view kind, const std::string& kernel_layout,
                 NodeId source) {
  const NodeId core = s.capture("core");
  const Shape data = s.shape(source);
  const std::size_t spatial = data.size() - 2;
  if (!has_data_layout(s, core, "data_layout", spatial) ||
      kernel_layout != kKernelLayouts[spatial - 1]) {
    return refuse("layouts {} and {} are not taken", s.text(core, "data_layout"),
                  s.text(core, "kernel_layout"));
  }
  Kernel kernel;
  kernel.kind = kind;
  kernel.result_dims = s.shape(core);
  kernel.add_operand(source, "source", data);
  add_geometry(s, core, spatial, kernel);
  return kernel;
}

int add_weights(const Subject& s, NodeId core, Kernel& kernel) {
  const NodeId weights = s.operands(core)[1];
  Shape dims = s.shape(weights);
  if (const std::int64_t groups = s.integer(core, "groups"); groups != 1) {
    dims[0] = floor_div(dims[0], Dim(groups));
    dims.insert(dims.begin(), Dim(groups));
  }
  return kernel.add_operand(weights, "weights", View::of(std::move(dims)));
}

bool is_along(const Shape& dims, const Shape& result, std::size_t axis) {
  const std::size_t after = result.size() - 1 - axis;
  if (dims.size() <= after || num_elements(dims) != result[axis]) return false;
  return dims[dims.size() - 1 - after] == result[axis];
}

}  // namespace tessera::backends::onednn
