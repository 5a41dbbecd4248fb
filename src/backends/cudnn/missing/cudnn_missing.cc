// SPDX-License-Identifier: Apache-2.0
// Stands for the back end where the build found no headers of cuDNN.
#include "byoc/missing_backend.h"

namespace tessera::backends {

// Declared here as in backends/cudnn/cudnn.h, which belongs to the other library of this name.
const byoc::Backend& cudnn_backend();
const byoc::Backend& cudnn_backend() {
  static const byoc::MissingBackend backend(
      "cudnn",
      "this tessera was built without the headers of cuDNN 9.8 or later, or of CUDA 13: install "
      "the PyPI package nvidia-cudnn-cu13 into .deps/python and build again",
      false);
  return backend;
}

}  // namespace tessera::backends
