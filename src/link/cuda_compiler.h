// SPDX-License-Identifier: Apache-2.0
// The CUDA compiler of the machine, and the toolkit that it belongs to.
#pragma once

#include <string>
#include <vector>

#include "link/compiler.h"

namespace tessera::link {

struct CudaCompiler {
  std::string nvcc;      // its path
  std::string toolkit;   // the folder above its bin/
  std::string identity;  // what it says of its build, and the path
};

// `nvcc` in $CUDA_HOME/bin if that is set, else in $PATH or in /usr/local/cuda/bin.
Result<CudaCompiler> find_cuda_compiler();

// How a source is compiled to an object, in a folder of its own; `host` is nvcc's host compiler.
// Equal sources give equal bytes, if nothing stands in an anonymous namespace: nvcc names those
// after the folder.
std::vector<std::string> cuda_command(const CudaCompiler& cuda, const Compiler& host);
// What of that command, the programs aside, decides what the object holds.
std::vector<std::string> cuda_flags();

// What is wrong with an object although it was made, by nvcc's messages; "": nothing.
std::string cuda_complaint(const std::string& messages);

// A static library of the toolkit, "libcudart_static.a".
Result<std::string> find_cuda_library(const std::string& file);

}  // namespace tessera::link
