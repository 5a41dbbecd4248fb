// SPDX-License-Identifier: Apache-2.0
#include "backends/cudnn/compiler/region.h"

#include <limits>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tessera::backends::cudnn {

using relay::Refusal;

View packed(std::vector<std::int64_t> dims) {
  View view{std::move(dims), {}};
  view.strides.resize(view.dims.size());
  std::int64_t stride = 1;
  for (std::size_t i = view.dims.size(); i-- > 0; stride *= view.dims[i]) view.strides[i] = stride;
  return view;
}

std::int64_t count_of(const View& view) {
  std::int64_t count = 1;
  for (const std::int64_t d : view.dims) count *= d;
  return count;
}

std::int64_t reach_of(const View& view) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < view.dims.size(); ++i) last += (view.dims[i] - 1) * view.strides[i];
  return last + 1;
}

std::int64_t place(const View& view, const std::vector<std::int64_t>& index) {
  std::int64_t at = 0;
  for (std::size_t i = 0; i < index.size(); ++i) {
    if (view.dims[i] != 1) at += index[i] * view.strides[i];
  }
  return at;
}

std::string text_of(const View& view) {
  return fmt::format("{}@{}", fmt::join(view.dims, "x"), fmt::join(view.strides, ","));
}

std::int64_t offset_bytes(const Operation& view) {
  return std::stoll(view.attributes.at("offset_bytes")[0]);
}

std::size_t Region::add(Operation operation) {
  operations.push_back(std::move(operation));
  return operands.size() + operations.size() - 1;
}

std::size_t Region::add_number(double value) {
  return add({"scalar",
              {},
              {{"value", {fmt::format("{}", static_cast<float>(value))}}},
              packed({1, 1, 1, 1}),
              kFloat32});
}

std::optional<Refusal> check_dtype(DType dtype, const char* what) {
  if (dtype == kFloat16 || dtype == kBFloat16 || dtype == kFloat32) return std::nullopt;
  return Refusal{fmt::format("{} of {}", what, to_string(dtype))};
}

std::optional<Refusal> check_known(const Type& type) {
  for (const Dim& d : type.shape()) {
    if (!d.is_constant()) {
      return Refusal{fmt::format("a plan of cuDNN is for known sizes, not {}", to_string(type))};
    }
    if (d.constant() == 0) return Refusal{"a tensor is empty"};
  }
  return std::nullopt;
}

std::optional<Refusal> check_sizes(const Type& type) {
  if (auto why = check_known(type)) return why;
  std::int64_t elements = 1;
  for (const Dim& d : type.shape()) {
    if (elements > std::numeric_limits<std::int32_t>::max() / d.constant()) {
      return Refusal{fmt::format("{} has 2^31 elements or more", to_string(type))};
    }
    elements *= d.constant();
  }
  return std::nullopt;
}

}  // namespace tessera::backends::cudnn
