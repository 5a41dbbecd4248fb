// SPDX-License-Identifier: Apache-2.0
// What the linker of a model sees of this archive. A model's regions differ in their payload alone,
// so all of them run through one function.
#pragma once

#include "tessera/call.h"

extern "C" {

int32_t tessera_openvino_create_library(const tessera_state_args* args, void** state);
void tessera_openvino_destroy_library(void* state);
int32_t tessera_openvino_create_call_site(const tessera_state_args* args, void** state);
void tessera_openvino_destroy_call_site(void* state);

int32_t tessera_openvino_run(const tessera_call* call, tessera_tensor** tensors,
                             int32_t tensor_count);
}
