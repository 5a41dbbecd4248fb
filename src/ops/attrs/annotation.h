// SPDX-License-Identifier: Apache-2.0
// Attributes of calls that mark or replace others: annotations, copies between devices, lowered
// calls.
#pragma once

#include "relay/attributes.h"

namespace tessera::ops {

struct CompilerAttrs {
  std::string compiler;
  static constexpr auto fields =
      std::tuple{relay::required_attr("compiler", &CompilerAttrs::compiler)};
};
struct DeviceCopyAttrs {
  relay::AttrValue src_virtual_device, dst_virtual_device;
  static constexpr auto fields =
      std::tuple{relay::required_attr("src_virtual_device", &DeviceCopyAttrs::src_virtual_device),
                 relay::required_attr("dst_virtual_device", &DeviceCopyAttrs::dst_virtual_device)};
};
struct CallLoweredAttrs {
  relay::AttrValue metadata;
  static constexpr auto fields = std::tuple{relay::attr("metadata", &CallLoweredAttrs::metadata)};
};

}  // namespace tessera::ops
