// SPDX-License-Identifier: Apache-2.0
// The text that is compiled: for each kernel a few lines that fill in a template of kernels/, and
// for each region a function that hands its tensors to a kernel.
#pragma once

#include <string>

#include "backends/cutlass/gemm/configuration.h"
#include "backends/cutlass/gemm/gemm.h"
#include "support/source.h"

namespace tessera::backends::cutlass {

// The template's file in kernels/.
Literal template_header(const Gemm& gemm, const Configuration& configuration);
// The C function of a kernel, equal for equal kernels whatever their sizes:
// "tessera_gemm_float16_93a1c0f2_sm90_128x192x64_c2x1_pingpong".
std::string kernel_symbol(const Gemm& gemm, const Configuration& configuration);

// A whole CUDA source that defines that function.
Source kernel_source(const Gemm& gemm, const Configuration& configuration);

// The region's function, C++ in the back end's calling convention.
Source region_source(const std::string& symbol, const relay::Function& region, const Gemm& gemm,
                     const Configuration& configuration);
// What stands before those functions.
Source region_prologue();

// `struct Function`: what is computed for each element, in the words of a kind of program.
struct FunctionWords {
  Literal base;       // the struct that has erf, tanh, ...
  Literal qualifier;  // of a function on the device
  Source (*element)(DType);
};
Source function_text(const Epilogue& epilogue, const FunctionWords& words);
// The value of a Window of kernels/gemm.h. A batch that is no number is read off the image, a
// tensor of the region's function.
Source window_text(const Convolution& convolution, const Source& image);

}  // namespace tessera::backends::cutlass
