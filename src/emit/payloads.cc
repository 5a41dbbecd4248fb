// SPDX-License-Identifier: Apache-2.0
#include "emit/payloads.h"

#include <fmt/format.h>

namespace tessera::emit {

std::vector<Payload> payloads(const Module& module) {
  std::vector<Payload> all;
  for (std::size_t i = 0; i < module.artifacts.size(); ++i) {
    const Artifact& a = module.artifacts[i];
    if (a.kind != ArtifactKind::kRuntimeModule || a.payload.empty()) continue;
    all.push_back({payload_symbol(i), a.payload});
  }
  return all;
}

std::string payload_symbol(std::size_t artifact) {
  return fmt::format("tessera_payload_{}", artifact);
}

}  // namespace tessera::emit
