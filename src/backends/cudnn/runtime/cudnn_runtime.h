// SPDX-License-Identifier: Apache-2.0
// What the linker of a model sees of this archive. A model's functions differ in their graph alone,
// so all of them run through one.
#pragma once

#include "tessera/call.h"

extern "C" {

int32_t tessera_cudnn_create_instance(const tessera_state_args* args, void** state);
void tessera_cudnn_destroy_instance(void* state);
int32_t tessera_cudnn_create_call_site(const tessera_state_args* args, void** state);
void tessera_cudnn_destroy_call_site(void* state);

int32_t tessera_cudnn_run(const tessera_call* call, tessera_tensor** tensors, int32_t tensor_count);
}
