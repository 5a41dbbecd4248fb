// SPDX-License-Identifier: Apache-2.0
// A descriptor of cuDNN's graph interface: its attributes are set one by one, then it is finalised
// and never changes again.
#pragma once

#include <utility>

#include "backends/cudnn/runtime/api.h"

namespace tessera::backends::cudnn {

class Descriptor {
 public:
  Descriptor() = default;
  Descriptor(Descriptor&& other) noexcept : api_(other.api_), raw_(std::exchange(other.raw_, {})) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(api_, other.api_);
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~Descriptor() {
    if (raw_ != nullptr) api_->BackendDestroyDescriptor(raw_);
  }

  cudnnBackendDescriptor_t raw() const { return raw_; }

  // The first of them that fails is kept: whoever sets many attributes looks once, at the end.
  Descriptor& create(const Api& api, cudnnBackendDescriptorType_t type) {
    api_ = &api;
    status_ = api.BackendCreateDescriptor(type, &raw_);
    return *this;
  }
  Descriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                  std::int64_t count, const void* values) {
    if (status_ == CUDNN_STATUS_SUCCESS) {
      status_ = api_->BackendSetAttribute(raw_, name, type, count, values);
    }
    return *this;
  }
  Descriptor& set(cudnnBackendAttributeName_t name, const Descriptor& other) {
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &other.raw_);
  }
  Descriptor& set(cudnnBackendAttributeName_t name, std::int64_t value) {
    return set(name, CUDNN_TYPE_INT64, 1, &value);
  }
  cudnnStatus_t finalize() {
    if (status_ == CUDNN_STATUS_SUCCESS) status_ = api_->BackendFinalize(raw_);
    return status_;
  }

 private:
  const Api* api_ = nullptr;
  cudnnBackendDescriptor_t raw_ = nullptr;
  cudnnStatus_t status_ = CUDNN_STATUS_SUCCESS;
};

}  // namespace tessera::backends::cudnn
