// SPDX-License-Identifier: Apache-2.0
// One source to compile.
#pragma once

#include <string>
#include <vector>

#include "support/source.h"

namespace tessera {

struct CompileJob {
  std::string name;                // file stem, for messages and kept sources: "kernels_0"
  Source source;                   // C++ (or CUDA) text
  std::string extension = "cc";    // "cc" or "cu"
  std::vector<std::string> flags;  // beyond the toolchain's own; part of the cache key
  // Where to look for headers beyond tessera's own. What is found there is told by `headers`, whose
  // content is part of the cache key; the folders' names are not.
  std::vector<std::string> include_folders = {};
  std::vector<std::string> headers = {};  // relative to the include folders
  std::string kept_in = {};  // the folder where the source stays as NAME.EXTENSION; "": it does not
  int at_once = 0;           // compilers, at most, while it is among the jobs; 0: as usual
  // CUDA: compiled twice at the same time, which takes as long as the longer one. With
  // TESSERA_DEVICE_PASS for the device alone, to an image that the object has as NAME_image; with
  // TESSERA_HOST_PASS, and empty for the device, to functions that load the image.
  bool compiles_apart = false;
};

}  // namespace tessera
