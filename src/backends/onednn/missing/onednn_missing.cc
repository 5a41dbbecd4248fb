// SPDX-License-Identifier: Apache-2.0
// Stands for the back end where the build found no oneDNN headers.
#include "byoc/missing_backend.h"

namespace tessera::backends {

// Declared here as in backends/onednn/onednn.h, which belongs to the other library of this name.
const byoc::Backend& onednn_backend();
const byoc::Backend& onednn_backend() {
  static const byoc::MissingBackend backend(
      "onednn",
      "this tessera was built without oneDNN's headers: install oneDNN 3 (scripts/install-deps.sh "
      "does) and build again",
      true);
  return backend;
}

}  // namespace tessera::backends
