// SPDX-License-Identifier: Apache-2.0
// What the compiler knows of the shim, and how it calls the part that builds engines.
#pragma once

#include "tessera/call.h"

// What TensorRT wants of the addresses of tensors. Others are copied by way of the workspace.
#define TESSERA_TENSORRT_ALIGN_BYTES 256

enum tessera_tensorrt_status {
  TESSERA_TENSORRT_OK = 0,
  TESSERA_TENSORRT_NO_ENGINE = 1,   // the graph is no network of it, today or tomorrow
  TESSERA_TENSORRT_NO_BUILDER = 2,  // it builds nothing here
  // It has built none: of a network that it does not build, or for want of memory. It does not say.
  TESSERA_TENSORRT_NOT_BUILT = 3,
};

struct tessera_tensorrt_build_args {
  const tessera_artifact_view* graph;  // as JSON, and the constants that it names
  void* library;                       // libnvinfer, as of dlopen
  // Is given the engine, which stays for the time of the call.
  void (*take)(void* context, const void* engine, uint64_t bytes);
  void* context;
  char* error;  // why there is no engine
  uint64_t error_bytes;
};

extern "C" int32_t tessera_tensorrt_build(const tessera_tensorrt_build_args* args);
