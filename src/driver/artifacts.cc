// SPDX-License-Identifier: Apache-2.0
#include "driver/artifacts.h"

#include <map>
#include <set>

#include "link/archive_symbols.h"

namespace tessera::driver {
namespace {

Location place_of(const Module& module, const std::string& symbol) {
  const auto f = module.functions.find(symbol);
  return f == module.functions.end() ? Location() : f->second.location;
}

// What the artifact defines, as far as that can be seen without compiling it.
std::set<std::string> definitions(const Module& module, const Artifact& artifact,
                                  Diagnostics& errors) {
  std::set<std::string> declared(artifact.symbols.begin(), artifact.symbols.end());
  if (artifact.kind != ArtifactKind::kStaticLibrary) return declared;
  auto defined = link::archive_symbols(artifact.payload);
  if (!defined) {
    errors.add(error(Code::kBackendFailed, {},
                     "what back end `{}` gave as a static library is none, or has no index",
                     artifact.backend)
                   .with_remedy("`ar rcs` writes archives with an index"));
    return declared;
  }
  for (const std::string& symbol : declared) {
    if (defined->contains(symbol)) continue;
    errors.add(error(Code::kBackendFailed, place_of(module, symbol),
                     "the static library of back end `{}` does not define `{}`, which it was "
                     "declared with",
                     artifact.backend, symbol));
  }
  return *std::move(defined);
}

}  // namespace

Result<void> check_artifacts(const Module& module) {
  Diagnostics errors;
  std::map<std::string, const Artifact*> declared_by;
  for (const Artifact& a : module.artifacts) {
    for (const std::string& symbol : a.symbols) declared_by.emplace(symbol, &a);
  }
  for (const Artifact& a : module.artifacts) {
    for (const std::string& symbol : definitions(module, a, errors)) {
      const auto owner = declared_by.find(symbol);
      if (owner == declared_by.end() || owner->second == &a) continue;
      errors.add(error(Code::kBackendFailed, place_of(module, symbol),
                       "`{}` is defined by an artifact of back end `{}` and by one of `{}`", symbol,
                       owner->second->backend, a.backend)
                     .with_remedy("each function of the module has one definition"));
    }
  }
  if (!errors.empty()) return fail(std::move(errors));
  return {};
}

}  // namespace tessera::driver
