// SPDX-License-Identifier: Apache-2.0
// For tests: see NvInfer.h. By way of another name, as some versions have it.
#pragma once

#define TRT_MAJOR_ENTERPRISE 10
#define NV_TENSORRT_MAJOR TRT_MAJOR_ENTERPRISE  // a number
#define NV_TENSORRT_MINOR 3
#define NV_TENSORRT_PATCH 0
