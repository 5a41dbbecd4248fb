// SPDX-License-Identifier: Apache-2.0
// What the linker of a model sees of this archive. A model's functions differ in their payload
// alone, so all of them run through one.
#pragma once

#include "tessera/call.h"

extern "C" {

int32_t tessera_cublas_create_library(const tessera_state_args* args, void** state);
void tessera_cublas_destroy_library(void* state);
int32_t tessera_cublas_create_call_site(const tessera_state_args* args, void** state);
void tessera_cublas_destroy_call_site(void* state);

int32_t tessera_cublas_run(const tessera_call* call, tessera_tensor** tensors,
                           int32_t tensor_count);
}
