// SPDX-License-Identifier: Apache-2.0
// Objects, archives and weights into one shared library that needs nothing but the system's C
// library, and opens what threads and vendor libraries need when it runs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "link/toolchain.h"
#include "link/weights.h"

namespace tessera::link {

struct LinkInput {
  std::vector<std::string> objects;  // bytes; one of a model's defines its program
  bool is_model = true;  // false: of the runtime it has what is called, not what is exported
  std::vector<std::string> archives;          // bytes of static libraries
  std::vector<std::string> runtime_archives;  // names, beyond `runtime` itself: "onednn_runtime"
  std::vector<std::string> cuda_libraries;    // files of the toolkit: "libcudart_static.a"
  std::vector<WeightPiece> weights;
  std::uint64_t weights_bytes = 0;
  // In place of those: this file is mapped when the library is loaded.
  SharedWeights shared_weights = {};
  // Where this machine has the vendor libraries. The library notes it, and looks there last; its
  // build id does not depend on it.
  std::vector<std::string> vendor_folders;
};

// Makes `path`, completely or not at all. Equal input gives equal bytes under the same name, which
// is the library's SONAME: a program that is linked to it finds it by its name alone.
Result<void> link_library(const Toolchain& toolchain, const LinkInput& input,
                          const std::string& path);

// An error now, rather than after the work, if `path` cannot be written.
Result<void> check_output(const std::string& path);

// A program, made of objects one of which has `main`, and libraries of the CUDA toolkit.
Result<void> link_program(const Toolchain& toolchain, std::span<const std::string> objects,
                          std::span<const std::string> cuda_libraries, const std::string& path);

// The bytes of the library, without weights; without a SONAME if there is no name.
Result<std::string> link_image(const Toolchain& toolchain, const LinkInput& input,
                               const std::string& name = "");

}  // namespace tessera::link
