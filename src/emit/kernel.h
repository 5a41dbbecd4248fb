// SPDX-License-Identifier: Apache-2.0
// Kernels of the loop IR as C++ that people can read (convention "generated" of tessera/call.h).
//
// The text keeps the names of loops and buffers, indexes buffers flat and row-major, and computes
// float16 and bfloat16 in float. A parallel loop becomes a struct of what it reads with a static
// function that runs a range of it; a vectorised loop stands under `omp simd`, with a reduction
// where it accumulates into one place. Constant data are arguments: text holds scalars only.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "support/source.h"
#include "tir/prim_func.h"

namespace tessera::emit {

// What kernel sources are compiled with, besides the CPU (-march=...) and the path of
// tessera/kernel_math.h. Not -ffast-math: NaN and infinities must work.
inline constexpr std::string_view kKernelFlags[] = {
    "-std=c++20",         "-O3",           "-fno-math-errno", "-ffp-contract=fast",
    "-fno-trapping-math", "-fopenmp-simd",
};

// And what g++ is told besides, which clang does not know. Selections one after another, as
// integers are made of floats, it makes branches of that depend on one another, and then no vectors
// of the loop around them. Of loops that copy accumulators to results it makes calls of memcpy, for
// which accumulators must be in memory.
inline constexpr std::string_view kKernelFlagsOfGcc[] = {"-fno-thread-jumps", "-fno-tree-pre",
                                                         "-fno-tree-loop-distribute-patterns"};

// The head of a translation unit of kernels: includes.
Source kernel_prologue();
// One kernel; `symbol` becomes its C name. Needs verified loop IR without Allocate of global
// memory, AllocateConst and vector values (Ramp, Broadcast).
Source emit_kernel(const tir::PrimFunc& f, std::string_view symbol);
// A translation unit of all functions that are no host programs.
Source emit_kernels(const std::map<std::string, tir::PrimFunc>& functions);

}  // namespace tessera::emit
