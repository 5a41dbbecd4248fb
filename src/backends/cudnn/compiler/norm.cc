// SPDX-License-Identifier: Apache-2.0
#include "backends/cudnn/compiler/norm.h"

#include <algorithm>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "ops/attrs/norm.h"
#include "relay/operator.h"
#include "relay/patterns/refuse.h"

namespace tessera::backends::cudnn {
namespace {

using relay::NodeId;
using relay::Refusal;
using relay::refuse;
using Ints = std::vector<std::int64_t>;

struct Norm {
  bool subtracts_mean = true;  // a layer norm; else an RMS norm
  double epsilon = 1e-5;
  std::int64_t rows = 1, width = 1;
};

Expected<Norm, Refusal> norm_of(const relay::Function& f, NodeId call) {
  const relay::Attrs& attrs = f.as<relay::OpCall>(call)->attrs;
  Norm norm;
  std::int64_t axis = -1;
  if (f.op(call)->name == "nn.layer_norm") {
    const auto a = relay::read_attrs<ops::LayerNormAttrs>(attrs);
    if (!a.center || !a.scale) return refuse("a layer norm without scale or bias");
    axis = a.axis;
    norm.epsilon = a.epsilon;
  } else {
    const auto a = relay::read_attrs<ops::RmsNormAttrs>(attrs);
    if (!a.scale) return refuse("an RMS norm without a scale");
    axis = a.axis;
    norm.epsilon = a.epsilon;
    norm.subtracts_mean = false;
  }
  const Shape& shape = f.type(call).shape();
  const auto rank = static_cast<std::int64_t>(shape.size());
  if (axis != -1 && axis + 1 != rank) return refuse("the axis is {}, not the last one", axis);
  norm.width = shape.back().constant();
  for (const Dim& d : std::span(shape).first(shape.size() - 1)) norm.rows *= d.constant();
  return norm;
}

std::string name_of(const Norm& norm) { return norm.subtracts_mean ? "layer" : "rms"; }

// Rows are images of one pixel, and what is normalised over are their channels.
View view_of(std::int64_t rows, std::int64_t width) {
  return {{rows, width, 1, 1}, {width, 1, width, width}};
}

double element(const Norm& norm, const Region::Read& read, const Ints& at) {
  const std::int64_t first = at[0] * norm.width;
  const auto size = static_cast<double>(norm.width);
  double mean = 0, squares = 0;
  for (std::int64_t i = 0; norm.subtracts_mean && i < norm.width; ++i) {
    mean += read(0, first + i) / size;
  }
  for (std::int64_t i = 0; i < norm.width; ++i) {
    const double x = read(0, first + i) - mean;
    squares += x * x / size;
  }
  const double unit = (read(0, first + at[1]) - mean) / std::sqrt(squares + norm.epsilon);
  return unit * read(1, at[1]) + (norm.subtracts_mean ? read(2, at[1]) : 0);
}

Region region_of(const Norm& norm, std::vector<Operand> operands, const Target& target) {
  Region region;
  region.dtype = operands[0].dtype;
  region.runtime_engines = target.get_bool("runtime_engines");
  region.operands = std::move(operands);
  const std::size_t epsilon = region.add_number(norm.epsilon);
  std::vector<std::size_t> inputs = {0, 1, epsilon};
  if (norm.subtracts_mean) inputs.push_back(2);
  region.add({"norm",
              std::move(inputs),
              {{"mode", {name_of(norm)}}},
              view_of(norm.rows, norm.width),
              region.dtype});
  region.sizes = fmt::format("{} rows of {}", norm.rows, norm.width);
  region.workload =
      fmt::format("{} norm {} {} by {} epsilon {}{}", name_of(norm), to_string(region.dtype),
                  text_of(region.result()), to_string(region.operands[1].dtype), norm.epsilon,
                  region.runtime_engines ? " runtime engines" : "");
  region.reference = [norm](const Region::Read& read, const Ints& at) {
    return element(norm, read, at);
  };
  region.scales.assign(region.operands.size(), 1);
  region.coldest = 0;
  return region;
}

}  // namespace

Expected<Region, Refusal> describe_norm(const relay::Match& match, const Target& target) {
  const relay::Function& f = *match.function;
  const NodeId call = match.root;
  std::vector<Operand> operands;
  for (const NodeId id : f.operands(call)) {
    const Type& type = f.type(id);
    if (auto why = check_dtype(type.dtype(), "a norm")) return {Unexpected<Refusal>{*why}};
    if (auto why = check_sizes(type)) return {Unexpected<Refusal>{*why}};
    const bool is_known = std::any_of(operands.begin(), operands.end(),
                                      [&](const Operand& o) { return o.value == id; });
    if (is_known) return refuse("cuDNN reads no tensor in two places of a graph");
    if (std::binary_search(match.inside.begin(), match.inside.end(), id)) {
      return refuse("a constant in between");
    }
    operands.push_back({id, type.dtype(), {}});
  }
  TESSERA_TRY(const Norm norm, norm_of(f, call));
  for (Operand& operand : operands) {
    operand.view = view_of(&operand == operands.data() ? norm.rows : 1, norm.width);
  }
  return region_of(norm, std::move(operands), target);
}

}  // namespace tessera::backends::cudnn
