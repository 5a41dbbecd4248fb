// SPDX-License-Identifier: Apache-2.0
#include "import/import_onnx.h"

#include "import/graph_importer.h"

namespace tessera::import {

Result<Module> import_onnx(const std::string& path, const ImportOptions& options) {
  TESSERA_TRY(const OnnxModel model, OnnxModel::read(path));
  return GraphImporter(model, options).run();
}

}  // namespace tessera::import
