// SPDX-License-Identifier: Apache-2.0
#include "backends/openvino/runtime/call_site.h"

#include <algorithm>
#include <cstring>

namespace tessera::backends::openvino {

Library::~Library() {
  if (core != nullptr && has_threads()) api.core_free(core);
}

CallSite::~CallSite() {
  if (!library_.has_threads()) return;
  for (const Bound& bound : bound_) {
    if (bound.tensor != nullptr) api_.tensor_free(bound.tensor);
  }
  if (request_ != nullptr) api_.infer_request_free(request_);
  if (model_ != nullptr) api_.compiled_model_free(model_);
}

bool CallSite::create(const tessera_artifact_view& artifact, std::int32_t threads,
                      runtime::TextBuffer* error) {
  const auto* payload = static_cast<const char*>(artifact.payload);
  if (artifact.payload_bytes <= kHeaderBytes || payload[kHeaderBytes - 1] != '\0') {
    error->add("the library holds nothing that OpenVINO made");
    return false;
  }
  const Version version(api_);
  if (std::strcmp(payload, version.text) != 0) {
    error->add(
        "it was compiled by OpenVINO %s, and OpenVINO %s is loaded: name the folder of the former "
        "in TESSERA_LIBRARY_PATH, or compile the model again",
        payload, version.text);
    return false;
  }
  if (!import(payload + kHeaderBytes, artifact.payload_bytes - kHeaderBytes, threads, error)) {
    return false;
  }
  ov_status_e status = api_.compiled_model_inputs_size(model_, &inputs_);
  if (status == OK) status = api_.compiled_model_outputs_size(model_, &outputs_);
  if (status == OK) status = api_.compiled_model_create_infer_request(model_, &request_);
  if (status == OK) return bound_.allocate(inputs_ + outputs_);
  error->add("OpenVINO makes no request: ");
  add_reason(api_, status, error);
  return false;
}

bool CallSite::import(const char* bytes, std::uint64_t size, std::int32_t threads,
                      runtime::TextBuffer* error) {
  if (!library_.has_threads()) {
    error->add(
        "OpenVINO was set up before this process was forked, and its threads stayed behind: create "
        "the instance before, or the model in this process");
    return false;
  }
  const runtime::ForkLock lock;  // the number of threads is the core's
  if (!set_threads(api_, library_.core, threads, error)) return false;
  const ov_status_e status = api_.core_import_model(library_.core, bytes, size, kDevice, &model_);
  if (status == OK) return true;
  error->add("OpenVINO does not take what it made when the model was compiled: ");
  add_reason(api_, status, error);
  return false;
}

namespace {

// Of no elements; the address of such a tensor may be none.
bool is_empty(const tessera_tensor& tensor) {
  return std::find(tensor.shape, tensor.shape + tensor.ndim, 0) != tensor.shape + tensor.ndim;
}

const void* address_of(const tessera_tensor& tensor) {
  static const char kNothing = 0;
  return is_empty(tensor) ? &kNothing : static_cast<const char*>(tensor.data) + tensor.byte_offset;
}

}  // namespace

bool CallSite::is_bound(const Bound& bound, const tessera_tensor& tensor) const {
  return bound.tensor != nullptr && bound.address == address_of(tensor) &&
         bound.rank == tensor.ndim &&
         std::equal(bound.shape, bound.shape + bound.rank, tensor.shape);
}

// OpenVINO reads inputs and writes outputs where the caller has them.
bool CallSite::bind(std::size_t i, const tessera_tensor& tensor, runtime::TextBuffer* error) {
  Bound& bound = bound_[i];
  if (bound.tensor != nullptr) api_.tensor_free(bound.tensor);
  bound = {address_of(tensor), nullptr, tensor.ndim, {}};
  std::copy(tensor.shape, tensor.shape + tensor.ndim, bound.shape);
  ov_status_e status =
      api_.tensor_create_from_host_ptr(element_type(tensor.dtype), {tensor.ndim, bound.shape},
                                       const_cast<void*>(bound.address), &bound.tensor);
  if (status == OK) {
    status = i < inputs_ ? api_.infer_request_set_input_tensor_by_index(request_, i, bound.tensor)
                         : api_.infer_request_set_output_tensor_by_index(request_, i - inputs_,
                                                                         bound.tensor);
  }
  if (status == OK) return true;
  error->add("OpenVINO does not take tensor %d: ", static_cast<int>(i));
  add_reason(api_, status, error);
  return false;
}

bool CallSite::run(tessera_tensor** tensors, std::int32_t count, runtime::TextBuffer* error) {
  if (static_cast<std::size_t>(count) != bound_.size()) {
    error->add("called with %d tensors instead of %d", count, static_cast<int>(bound_.size()));
    return false;
  }
  const auto is_done = [](const tessera_tensor* output) { return is_empty(*output); };
  if (std::all_of(tensors + inputs_, tensors + count, is_done)) return true;
  for (std::size_t i = 0; i < bound_.size(); ++i) {
    if (tensors[i]->ndim > kMostDimensions) {
      error->add("a tensor has more than %d dimensions", kMostDimensions);
      return false;
    }
    if (!is_bound(bound_[i], *tensors[i]) && !bind(i, *tensors[i], error)) return false;
  }
  const ov_status_e status = api_.infer_request_infer(request_);
  if (status == OK) return true;
  error->add("OpenVINO failed: ");
  add_reason(api_, status, error);
  return false;
}

}  // namespace tessera::backends::openvino
