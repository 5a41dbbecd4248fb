// SPDX-License-Identifier: Apache-2.0
#include "import/scope.h"

#include <fmt/format.h>

#include "import/onnx_model.h"

namespace tessera::import {

int Scope::opset_of(const std::string& domain) const {
  if (is_default_domain(domain)) return opset;
  const auto known = other_opsets.find(domain);
  return known == other_opsets.end() ? 1 : known->second;
}

std::string Scope::domain_text(const std::string& domain) const {
  if (is_default_domain(domain)) return fmt::format("ai.onnx opset {}", opset);
  // onnxruntime's optimiser leaves the import of its own domain out. There is one version of that.
  if (domain == "com.microsoft") return "com.microsoft opset 1";
  const auto known = other_opsets.find(domain);
  return known == other_opsets.end() ? fmt::format("{}, which the model does not import,", domain)
                                     : fmt::format("{} opset {}", domain, known->second);
}

}  // namespace tessera::import
