// SPDX-License-Identifier: Apache-2.0
// What nvcc is told of a GPU architecture, `sm_80` or `sm_90a`. On which GPUs the code then runs,
// libraries say for themselves: runtime/device_arch.h.
#pragma once

#include <string>
#include <string_view>

namespace tessera {

// "90" of `sm_90a`; "" where no number is said.
std::string_view gpu_arch_number(std::string_view arch);

// Of the usual GPU of the architecture: A100, A10, Jetson Orin, L40S, else H100 and H200 as
// modules.
int usual_multiprocessors(std::string_view arch);

// Is its PTX something that later GPUs can run? That of sm_90a is for one architecture alone, that
// of sm_103f for one family.
bool has_ptx_for_later(std::string_view arch);

// The option that asks for its machine code, and for its PTX, too.
std::string gencode_flag(std::string_view arch, bool with_ptx);

}  // namespace tessera
