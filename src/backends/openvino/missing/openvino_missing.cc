// SPDX-License-Identifier: Apache-2.0
#include "byoc/missing_backend.h"

namespace tessera::backends {

// Declared here as in backends/openvino/openvino.h, which belongs to the other library of this
// name.
const byoc::Backend& openvino_backend();
void openvino_work(const std::string& folder);
void openvino_work(const std::string&) {}
const byoc::Backend& openvino_backend() {
  static const byoc::MissingBackend backend(
      "openvino",
      "this tessera was built without OpenVINO's headers: install PyPI's `openvino` "
      "(scripts/install-deps.sh does) and build again",
      false);
  return backend;
}

}  // namespace tessera::backends
