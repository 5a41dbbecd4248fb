// SPDX-License-Identifier: Apache-2.0
#include "tests/onnx_gate/cases.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "import/onnx_tensor.h"
#include "support/files.h"

namespace tessera::onnx_gate {
namespace {

namespace fs = std::filesystem;

Result<NamedTensor> read_tensor(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return fail(error(Code::kFileNotFound, {}, "{}", text.error().text()));
  onnx::TensorProto proto;
  if (!proto.ParseFromString(*text)) {
    return fail(error(Code::kNotOnnx, {}, "`{}` is not a TensorProto", path));
  }
  TESSERA_TRY(Tensor tensor, import::inline_tensor(proto, {}));
  return NamedTensor{proto.name(), std::move(tensor)};
}

// input_0.pb, input_1.pb, ... as many as there are.
Result<std::vector<NamedTensor>> read_tensors(const fs::path& folder, const std::string& kind) {
  std::vector<NamedTensor> tensors;
  for (int i = 0;; ++i) {
    const fs::path path = folder / fmt::format("{}_{}.pb", kind, i);
    if (!fs::exists(path)) return tensors;
    TESSERA_TRY(NamedTensor tensor, read_tensor(path.string()));
    tensors.push_back(std::move(tensor));
  }
}

struct Tolerance {
  double relative = 0, absolute = 0;
};

// ONNX's own runner has 1e-3 and 1e-7 for all types; sums near zero and half floats need a little
// more.
Tolerance tolerance(DType dtype) {
  if (!dtype.is_float()) return {};
  if (dtype == kBFloat16) return {2e-2, 1e-2};
  if (dtype == kFloat16) return {4e-3, 1e-3};
  return {1e-3, 1e-6};
}

}  // namespace

std::vector<Case> find_cases(const std::string& root) {
  std::vector<Case> cases;
  std::error_code ec;
  for (fs::recursive_directory_iterator it(root, ec), end; it != end; it.increment(ec)) {
    if (it->path().filename() != "model.onnx") continue;
    const fs::path folder = it->path().parent_path();
    cases.push_back({fs::relative(folder, root).string(), folder.string()});
  }
  std::sort(cases.begin(), cases.end(),
            [](const Case& a, const Case& b) { return a.name < b.name; });
  return cases;
}

Result<std::vector<DataSet>> read_data_sets(const Case& c) {
  std::vector<DataSet> sets;
  for (int i = 0;; ++i) {
    const std::string name = fmt::format("test_data_set_{}", i);
    const fs::path folder = fs::path(c.folder) / name;
    if (!fs::exists(folder)) break;
    TESSERA_TRY(auto inputs, read_tensors(folder, "input"));
    TESSERA_TRY(auto outputs, read_tensors(folder, "output"));
    sets.push_back({name, std::move(inputs), std::move(outputs)});
  }
  return sets;
}

std::vector<Tensor> in_order(const std::vector<NamedTensor>& tensors,
                             const std::vector<Port>& ports) {
  std::vector<Tensor> by_name, by_place;
  for (const Port& port : ports) {
    const auto it = std::find_if(tensors.begin(), tensors.end(),
                                 [&](const NamedTensor& t) { return t.name == port.name; });
    if (it != tensors.end()) by_name.push_back(it->tensor);
  }
  for (const NamedTensor& t : tensors) by_place.push_back(t.tensor);
  std::vector<Tensor> ordered = by_name.size() == ports.size() ? by_name : by_place;
  for (std::size_t i = 0; i < std::min(ordered.size(), ports.size()); ++i) {
    const bool is_bits = ordered[i].dtype == kUInt16 && ports[i].dtype == kBFloat16;
    if (is_bits) ordered[i].dtype = kBFloat16;
  }
  return ordered;
}

std::optional<std::string> difference(const Tensor& result, const Tensor& expected) {
  if (!(result.type() == expected.type())) {
    return fmt::format("is {} instead of {}", to_string(result.type()), to_string(expected.type()));
  }
  const Tolerance t = tolerance(expected.dtype);
  double scale = 0;
  for (std::int64_t i = 0; i < expected.num_elements(); ++i) {
    const double b = element_as_double(expected, i);
    if (std::isfinite(b)) scale = std::max(scale, std::abs(b));
  }
  for (std::int64_t i = 0; i < expected.num_elements(); ++i) {
    const double a = element_as_double(result, i), b = element_as_double(expected, i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (std::abs(a - b) <= t.relative * std::abs(b) + t.absolute * std::max(1.0, scale)) continue;
    return fmt::format("has {} instead of {} at element {}", a, b, i);
  }
  return std::nullopt;
}

}  // namespace tessera::onnx_gate
