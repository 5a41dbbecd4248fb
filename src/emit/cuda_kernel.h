// SPDX-License-Identifier: Apache-2.0
// Kernels of the loop IR as CUDA that people can read. Each outermost loop, of kind grid, warps or
// blocks, becomes a __global__ function; the kernel itself (convention "generated" of
// tessera/call.h) is the host function that launches them in order on the call's stream.
//
// Expressions have the text of emit/kernel.h. A loop over threads inside of warps or blocks is
// spread over them. What it accumulates into one place is reduced over the team. A stack buffer
// that it indexes first by its own variable lies in registers, each thread holding its part.
// Barriers stand in the loop IR, and nowhere else.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "support/source.h"
#include "tir/prim_func.h"

namespace tessera::emit {

// The head of a translation unit of kernels: includes.
Source cuda_prologue();
// Needs verified loop IR whose outermost statements are launches.
Source emit_cuda_kernel(const tir::PrimFunc& f, std::string_view symbol);
// A translation unit of all functions that are no host programs.
Source emit_cuda_kernels(const std::map<std::string, tir::PrimFunc>& functions);

}  // namespace tessera::emit
