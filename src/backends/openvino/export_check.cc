// SPDX-License-Identifier: Apache-2.0
#include "backends/openvino/export_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <random>

namespace tessera::backends::openvino {
namespace {

constexpr std::int64_t kOpenSize = 4;
// Of the largest magnitude: both run the same kernels, or another operation.
constexpr float kTolerance = 1e-3F;

std::int64_t size_of(const Dim& size) {
  std::map<std::string, Dim> values;
  for (const std::string& name : size.symbols()) values.emplace(name, Dim(kOpenSize));
  return std::max<std::int64_t>(size.substitute(values).as_constant().value_or(kOpenSize), 1);
}

Tensor made_up(const Type& type, std::mt19937& random) {
  std::vector<std::int64_t> shape;
  std::int64_t count = 1;
  const Type made = made_up_type(type);
  for (const Dim& d : made.shape()) count *= shape.emplace_back(*d.as_constant());
  if (type.dtype() != kFloat32) {
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(count), 0);  // indices of anything
    for (std::int64_t& n : numbers) n = type.dtype() == kBool ? random() % 2 : 0;
    return tensor_from_ints(shape, type.dtype(), numbers);
  }
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& v : values) v = std::uniform_real_distribution<float>(-1, 1)(random);
  return Tensor::of(shape, kFloat32, values);
}

struct Output {
  ov_element_type_e type = DYNAMIC;
  std::vector<std::byte> bytes;
};

// What one model gives; nothing if it does not run.
class Run {
 public:
  Run(const Api& api, const ov_compiled_model_t* model) : api_(api), model_(model) {}

  bool run(const std::vector<Tensor>& inputs, std::vector<Output>& out) {
    std::size_t outputs = 0;
    bool ok = api_.compiled_model_outputs_size(model_, &outputs) == OK &&
              api_.compiled_model_create_infer_request(model_, &request_) == OK;
    for (std::size_t i = 0; ok && i < inputs.size(); ++i) ok = bind(i, inputs[i]);
    ok = ok && api_.infer_request_infer(request_) == OK;
    for (std::size_t i = 0; ok && i < outputs; ++i) ok = read(i, out.emplace_back());
    return ok;
  }

 private:
  bool bind(std::size_t i, const Tensor& input) {
    const DType t = input.dtype;
    std::vector<std::int64_t> shape = input.shape;
    ov_tensor_t* tensor = nullptr;
    const ov_element_type_e type =
        element_type({static_cast<std::uint8_t>(t.code), t.bits, t.lanes});
    auto* data = const_cast<std::byte*>(input.blob->aligned_bytes(64).data());
    return api_.tensor_create_from_host_ptr(type,
                                            {static_cast<std::int64_t>(shape.size()), shape.data()},
                                            data, &tensor) == OK &&
           api_.infer_request_set_input_tensor_by_index(request_, i, tensor) == OK;
  }

  bool read(std::size_t i, Output& out) {
    ov_tensor_t* tensor = nullptr;
    std::size_t size = 0;
    void* data = nullptr;
    if (api_.infer_request_get_output_tensor_by_index(request_, i, &tensor) != OK ||
        api_.tensor_get_element_type(tensor, &out.type) != OK ||
        api_.tensor_get_byte_size(tensor, &size) != OK || api_.tensor_data(tensor, &data) != OK) {
      return false;
    }
    const auto* bytes = static_cast<const std::byte*>(data);
    out.bytes.assign(bytes, bytes + size);
    return true;
  }

  const Api& api_;
  const ov_compiled_model_t* model_;
  ov_infer_request_t* request_ = nullptr;  // stays as long as the process
};

bool is_same(const Output& a, const Output& b) {
  if (a.type != b.type || a.bytes.size() != b.bytes.size()) return false;
  if (a.type != F32) return a.bytes == b.bytes;
  std::vector<float> x(a.bytes.size() / sizeof(float)), y(x.size());
  std::memcpy(x.data(), a.bytes.data(), a.bytes.size());
  std::memcpy(y.data(), b.bytes.data(), b.bytes.size());
  float largest = 0;
  for (const float v : x) largest = std::isfinite(v) ? std::max(largest, std::abs(v)) : largest;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool equal = x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]));
    if (!equal && !(std::abs(x[i] - y[i]) <= kTolerance * largest)) return false;
  }
  return true;
}

}  // namespace

Type made_up_type(const Type& type) {
  Shape shape;
  for (const Dim& d : type.shape()) shape.emplace_back(size_of(d));
  return tensor_type(std::move(shape), type.dtype());
}

std::vector<Tensor> made_up_inputs(const std::vector<Type>& types) {
  std::mt19937 random(1);
  std::vector<Tensor> inputs;
  for (const Type& type : types) inputs.push_back(made_up(type, random));
  return inputs;
}

Agreement compare_export(const Api& api, ov_core_t* core, const ov_compiled_model_t* compiled,
                         std::string_view exported, const std::vector<Tensor>& inputs) {
  std::vector<Output> wanted, found;
  if (!Run(api, compiled).run(inputs, wanted)) return Agreement::kUnknown;
  ov_compiled_model_t* imported = nullptr;
  if (api.core_import_model(core, exported.data(), exported.size(), kDevice, &imported) != OK ||
      !Run(api, imported).run(inputs, found)) {
    return Agreement::kOther;
  }
  const bool same = std::equal(wanted.begin(), wanted.end(), found.begin(), found.end(), is_same);
  return same ? Agreement::kSame : Agreement::kOther;
}

}  // namespace tessera::backends::openvino
