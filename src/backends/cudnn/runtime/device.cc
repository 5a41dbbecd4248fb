// SPDX-License-Identifier: Apache-2.0
#include "backends/cudnn/runtime/device.h"

namespace tessera::backends::cudnn {

Device::~Device() {
  if (handle_ != nullptr) api_->Destroy(handle_);
}

bool Device::open(const Api& api, TextBuffer* error) {
  api_ = &api;
  const cudnnStatus_t status = api.Create(&handle_);
  return status == CUDNN_STATUS_SUCCESS || fail(api, "cuDNN gives no handle", status, error);
}

bool Device::describe(const Api& api, std::string_view properties, TextBuffer* error) {
  api_ = &api;
  if (api.GetVersion() < kFirstWithDescriptions) {
    error->add("cuDNN %zu makes no plans without a device: 9.8 or later is needed",
               api.GetVersion());
    return false;
  }
  description_.create(api, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR)
      .set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
           static_cast<std::int64_t>(properties.size()), properties.data());
  const cudnnStatus_t status = description_.finalize();
  return status == CUDNN_STATUS_SUCCESS ||
         fail(api, "cuDNN does not take the description of the device", status, error);
}

void Device::set_on(Descriptor& descriptor, cudnnBackendAttributeName_t described) const {
  if (handle_ == nullptr) descriptor.set(described, description_);
}

void Device::set_on(Descriptor& descriptor, cudnnBackendAttributeName_t handle,
                    cudnnBackendAttributeName_t described) const {
  if (handle_ == nullptr) return set_on(descriptor, described);
  descriptor.set(handle, CUDNN_TYPE_HANDLE, 1, &handle_);
}

}  // namespace tessera::backends::cudnn
