// SPDX-License-Identifier: Apache-2.0
// The CUDA compiler of the machine, and the toolkit that it belongs to.
#pragma once

#include <string>
#include <vector>

#include "link/compiler.h"
#include "link/object_cache.h"

namespace tessera::link {

struct CudaCompiler {
  std::string nvcc;      // its path; "": it is not here, and what it made is in the cache
  std::string toolkit;   // the folder above its bin/
  std::string identity;  // what it says of its build, and the path
};

// `nvcc` in $CUDA_HOME/bin if that is set, else in $PATH or in /usr/local/cuda/bin; where there is
// none, the one that the cache was filled by last. What it says of itself is kept in the cache, so
// that an nvcc that has nothing to compile is not run.
Result<CudaCompiler> find_cuda_compiler(const ObjectCache& cache = ObjectCache(""));
// Objects of this compiler are in the cache.
void remember_cuda_compiler(const CudaCompiler& cuda, const ObjectCache& cache);
// There is none, and this needs one: "the cache has no object of `fill.cu`".
Diagnostic no_cuda_compiler(const std::string& need = {});

// How a source is compiled to an object, in a folder of its own; `host` is nvcc's host compiler.
// Equal sources give equal bytes, if nothing stands in an anonymous namespace: nvcc names those
// after the folder.
std::vector<std::string> cuda_command(const CudaCompiler& cuda, const Compiler& host);
// What of that command, the programs aside, decides what the object holds.
std::vector<std::string> cuda_flags();

// What is wrong with an object although it was made, by nvcc's messages; "": nothing.
std::string cuda_complaint(const std::string& messages);

// The bytes of a static library of the toolkit, "libcudart_static.a"; the cache keeps a copy.
Result<std::string> read_cuda_library(const std::string& file, const ObjectCache& cache);

}  // namespace tessera::link
