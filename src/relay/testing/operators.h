// SPDX-License-Identifier: Apache-2.0
// A small table of operators for the tests below ops/, where the real one is.
#pragma once

#include <algorithm>
#include <array>

#include "relay/operator.h"
#include "support/check.h"

namespace tessera::relay::testing {

struct CastAttrs {
  DType dtype;
  static constexpr auto fields = std::tuple{required_attr("dtype", &CastAttrs::dtype)};
};
struct DenseAttrs {
  std::optional<std::int64_t> units;
  std::optional<DType> out_dtype;
  static constexpr auto fields = std::tuple{required_attr("units", &DenseAttrs::units),
                                            attr("out_dtype", &DenseAttrs::out_dtype)};
};
struct ConvAttrs {
  std::vector<std::int64_t> strides{1, 1}, padding{0, 0};
  std::int64_t groups = 1;
  std::optional<std::vector<std::int64_t>> kernel_size;
  std::string data_layout = "NCHW";
  static constexpr auto fields =
      std::tuple{attr("strides", &ConvAttrs::strides), attr("padding", &ConvAttrs::padding),
                 attr("groups", &ConvAttrs::groups), attr("kernel_size", &ConvAttrs::kernel_size),
                 attr("data_layout", &ConvAttrs::data_layout)};
};
struct AxisAttrs {
  std::int64_t axis = -1;
  static constexpr auto fields = std::tuple{attr("axis", &AxisAttrs::axis)};
};
struct ClipAttrs {
  double a_min = 0, a_max = 0;
  static constexpr auto fields = std::tuple{required_attr("a_min", &ClipAttrs::a_min),
                                            required_attr("a_max", &ClipAttrs::a_max)};
};
struct PadAttrs {
  std::vector<std::vector<std::int64_t>> pad_width;
  std::string pad_mode = "constant";
  static constexpr auto fields = std::tuple{required_attr("pad_width", &PadAttrs::pad_width),
                                            attr("pad_mode", &PadAttrs::pad_mode)};
};
struct ReshapeAttrs {
  std::vector<std::int64_t> newshape;
  static constexpr auto fields = std::tuple{required_attr("newshape", &ReshapeAttrs::newshape)};
};
struct MeanAttrs {
  std::optional<std::vector<std::int64_t>> axis;
  bool keepdims = false;
  static constexpr auto fields =
      std::tuple{attr("axis", &MeanAttrs::axis), attr("keepdims", &MeanAttrs::keepdims)};
};
struct SplitAttrs {
  AttrValue indices_or_sections;
  std::int64_t axis = 0;
  static constexpr auto fields =
      std::tuple{required_attr("indices_or_sections", &SplitAttrs::indices_or_sections),
                 attr("axis", &SplitAttrs::axis)};
};
struct CompilerAttrs {
  std::string compiler;
  static constexpr auto fields = std::tuple{required_attr("compiler", &CompilerAttrs::compiler)};
};

// Sorted by name.
inline const auto kOperators = [] {
  std::array<Operator, 30> t{};
  std::size_t n = 0;
  const auto add = [&](std::string_view name, FixedList<std::string_view, 12> operands,
                       OpPattern pattern, const AttrSchema& (*attrs)() = attr_schema<NoAttrs>) {
    t[n].name = name;
    t[n].operands = operands;
    t[n].pattern = pattern;
    t[n++].attrs = attrs;
  };
  for (auto name : {"abs", "erf", "exp", "negative", "nn.relu", "sqrt"}) {
    add(name, {"x"}, OpPattern::kElemWise);
  }
  for (auto name : {"add", "divide", "equal", "greater", "less", "less_equal", "greater_equal",
                    "not_equal", "multiply", "subtract"}) {
    add(name, {"lhs", "rhs"}, OpPattern::kBroadcast);
  }
  add("annotation.compiler_end", {"x"}, OpPattern::kOpaque, attr_schema<CompilerAttrs>);
  add("cast", {"x"}, OpPattern::kElemWise, attr_schema<CastAttrs>);
  add("clip", {"x"}, OpPattern::kElemWise, attr_schema<ClipAttrs>);
  add("concatenate", {"tuple"}, OpPattern::kInjective, attr_schema<AxisAttrs>);
  add("mean", {"x"}, OpPattern::kCommReduce, attr_schema<MeanAttrs>);
  add("nn.conv2d", {"data", "weight"}, OpPattern::kOutFusable, attr_schema<ConvAttrs>);
  add("nn.dense", {"data", "weight"}, OpPattern::kOutFusable, attr_schema<DenseAttrs>);
  add("nn.dropout", {"x"}, OpPattern::kOpaque);
  add("nn.pad", {"x", "value"}, OpPattern::kInjective, attr_schema<PadAttrs>);
  add("nn.softmax", {"x"}, OpPattern::kOutFusable, attr_schema<AxisAttrs>);
  add("reshape", {"x"}, OpPattern::kInjective, attr_schema<ReshapeAttrs>);
  add("split", {"x"}, OpPattern::kInjective, attr_schema<SplitAttrs>);
  add("zeros", {}, OpPattern::kElemWise);
  for (std::size_t i = 0; i < n; ++i) {
    if (t[i].name == "nn.pad") t[i].optional_operands = 1;
  }
  std::sort(t.begin(), t.begin() + static_cast<std::ptrdiff_t>(n),
            [](const Operator& a, const Operator& b) { return a.name < b.name; });
  return std::pair{t, n};
}();

class TestOperators : public OperatorTable {
 public:
  TestOperators() {
    for (std::size_t i = 0; i < kOperators.second; ++i) all_.push_back(&kOperators.first[i]);
  }
  const Operator* find(std::string_view name) const override {
    for (const Operator* op : all_) {
      if (op->name == name) return op;
    }
    return nullptr;
  }
  std::span<const Operator* const> all() const override { return all_; }

 private:
  std::vector<const Operator*> all_;
};

inline const OperatorTable& operators() {
  static const TestOperators table;
  return table;
}
inline const Operator& op(std::string_view name) {
  const Operator* found = operators().find(name);
  TESSERA_CHECK(found != nullptr, "no operator {}", name);
  return *found;
}

}  // namespace tessera::relay::testing
