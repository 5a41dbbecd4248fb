// SPDX-License-Identifier: Apache-2.0
#include "import/import_onnx.h"

#include <set>

#include "import/graph_importer.h"

namespace tessera::import {

Result<Module> import_onnx(const std::string& path, const ImportOptions& options) {
  TESSERA_TRY(const OnnxModel model, OnnxModel::read(path));
  return GraphImporter(model, options).run();
}

Result<std::vector<OnnxNode>> imported_nodes(const std::string& path,
                                             const ImportOptions& options) {
  TESSERA_TRY(const OnnxModel model, OnnxModel::read(path));
  GraphImporter importer(model, options);
  [[maybe_unused]] const Result<Module> told_by_import_onnx = importer.run();
  std::vector<OnnxNode> nodes = importer.take_nodes();
  std::set<std::pair<std::string, std::string>> seen;
  std::erase_if(nodes, [&](const OnnxNode& n) { return !seen.emplace(n.name, n.op_type).second; });
  return nodes;
}

}  // namespace tessera::import
