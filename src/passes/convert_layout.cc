// SPDX-License-Identifier: Apache-2.0
// Operators change to the layouts that are asked for; transposes move to where nothing can take
// them (layout_converter.h).
#include <algorithm>

#include <fmt/format.h>

#include "passes/layout_converter.h"
#include "passes/pass.h"
#include "relay/function_attributes.h"

namespace tessera::passes {
namespace {

struct ConvertLayoutOptions {
  std::vector<std::string> desired;
  static constexpr auto fields =
      std::tuple{relay::required_attr("desired", &ConvertLayoutOptions::desired)};
};

// 0 for an operator that has no layout to convert.
std::size_t rank_of(std::string_view op) {
  constexpr std::string_view kTransposed = "_transpose";
  if (op.ends_with(kTransposed)) op.remove_suffix(kTransposed.size());
  return op == "nn.conv1d" ? 3 : op == "nn.conv2d" ? 4 : op == "nn.conv3d" ? 5 : 0;
}

// "HWIO" for "NHWC", "OIHW" for "NCHW"; "" where it is neither.
std::string kernel_for(const std::string& data) {
  for (const std::string spatial : {"W", "HW", "DHW"}) {
    if (data == "N" + spatial + "C") return spatial + "IO";
    if (data == "NC" + spatial) return "OI" + spatial;
  }
  return "";
}

// What colons separate.
std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ':') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

}  // namespace

Result<DesiredLayouts> parse_desired_layouts(const std::vector<std::string>& texts) {
  DesiredLayouts desired;
  for (const std::string& text : texts) {
    const std::size_t colon = text.find(':');
    const std::string name = text.substr(0, colon);
    const std::size_t rank = rank_of(name);
    if (rank == 0 || colon == text.npos) {
      return fail(
          error(Code::kBadPassOption, {},
                "pass `convert-layout`: `{}` in `desired` is not OPERATOR:LAYOUT", text)
              .with_remedy("the operators are nn.conv1d, nn.conv2d, nn.conv3d, and each of them "
                           "with _transpose"));
    }
    const std::string layouts = text.substr(colon + 1);
    std::vector<std::string> kernels = parts_of(layouts);
    const std::string data = kernels.front();
    kernels.erase(kernels.begin());
    const std::string usual = data.size() == rank ? kernel_for(data) : "";
    const bool are_kernels = std::all_of(kernels.begin(), kernels.end(), [&](const auto& kernel) {
      return std::is_permutation(kernel.begin(), kernel.end(), usual.begin(), usual.end());
    });
    if (usual.empty() || kernels.size() > 2 || !are_kernels) {
      return fail(error(Code::kBadPassOption, {},
                        "pass `convert-layout`: `{}` cannot have layout `{}`", name, layouts)
                      .with_remedy("channels are second (NCHW) or last (NHWC), kernels as usual or "
                                   "named (NHWC:OHWI), for several groups as well "
                                   "(NHWC:OHWI:OHWI)"));
    }
    kernels.resize(2, usual);  // where they are not named
    desired[name] = {data, usual, kernels[0], kernels[1]};
  }
  return desired;
}

namespace {

Result<Module> run_convert_layout(Module module, PassContext& context) {
  const auto options = relay::read_attrs<ConvertLayoutOptions>(context.options);
  TESSERA_TRY(const DesiredLayouts desired, parse_desired_layouts(options.desired));
  return map_optimizable(
      std::move(module), [&](const relay::Function& f, const ConstantPool& pool) {
        if (relay::is_primitive(f.attrs)) return f;
        return converted_layouts(f, pool, [&](relay::NodeId) { return &desired; }).function;
      });
}

}  // namespace

extern const Pass convert_layout;
const Pass convert_layout{
    .name = "convert-layout",
    .summary = "gives convolutions the layouts asked for and moves the transposes to the borders",
    .options = relay::attr_schema<ConvertLayoutOptions>,
    .run = run_convert_layout,
};

}  // namespace tessera::passes
