// SPDX-License-Identifier: Apache-2.0
#include "ops/records/annotation.h"

namespace tessera::ops {

constexpr Operator kDeviceCopy{
    .name = "device_copy",
    .doc = "The value on another device   data: any -> the same",
    .operands = {"data"},
    .takes_tuples = true,
    .attrs = relay::attr_schema<DeviceCopyAttrs>,
    .pattern = OpPattern::kOpaque,
    .infer = infer_mark,
    .eval = eval_mark,
    .compute = compute_mark,
    .samples = {"device_copy(float32[3,4], src_virtual_device=\"cpu\", dst_virtual_device=\"cpu\")",
                "device_copy(bool[2], src_virtual_device=\"cpu\", dst_virtual_device=\"cpu\")",
                "device_copy(int8[0], src_virtual_device=\"cpu\", dst_virtual_device=\"cpu\")"},
};

}  // namespace tessera::ops
