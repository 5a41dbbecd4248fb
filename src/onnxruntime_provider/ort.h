// SPDX-License-Identifier: Apache-2.0
// The C++ interface of onnxruntime. A plugin is given its functions when it is registered.
#pragma once

#ifndef ORT_API_MANUAL_INIT
#define ORT_API_MANUAL_INIT
#endif
#include <onnxruntime_cxx_api.h>
