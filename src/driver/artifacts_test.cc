// SPDX-License-Identifier: Apache-2.0
#include "driver/artifacts.h"

#include <gtest/gtest.h>

#include "link/toolchain.h"

namespace tessera::driver {
namespace {

// A static library that defines these functions.
std::string library_of(const std::vector<std::string>& functions) {
  auto tools =
      link::Toolchain::find({.root = TESSERA_BUILD_DIR, .cache_folder = "", .jobs = 1}).value();
  CompileJob job{"f", {}, "cc", {}};
  for (const std::string& f : functions)
    job.source += source("extern \"C\" void {}() {{}}\n", c_name(f));
  return tools.archive(tools.compile({&job, 1}).value()).value();
}

Artifact artifact(const std::string& backend, ArtifactKind kind, std::vector<std::string> symbols,
                  std::string payload) {
  Artifact a;
  a.kind = kind;
  a.backend = backend;
  a.symbols = std::move(symbols);
  a.payload = std::move(payload);
  return a;
}

std::string message_for(std::vector<Artifact> artifacts) {
  Module module;
  module.artifacts = std::move(artifacts);
  const auto checked = check_artifacts(module);
  return checked ? "" : checked.error().list.front().message;
}

TEST(Artifacts, AStaticLibraryDefinesWhatItWasDeclaredWith) {
  const std::string library = library_of({"one", "helper"});
  EXPECT_EQ(message_for({artifact("a", ArtifactKind::kStaticLibrary, {"one"}, library)}), "");
  EXPECT_EQ(message_for({artifact("a", ArtifactKind::kStaticLibrary, {"one", "two"}, library)}),
            "the static library of back end `a` does not define `two`, which it was declared with");
  EXPECT_EQ(message_for({artifact("a", ArtifactKind::kStaticLibrary, {"one"}, "text")}),
            "what back end `a` gave as a static library is none, or has no index");
}

TEST(Artifacts, AFunctionHasOneDefinition) {
  const std::string library = library_of({"one", "two"});
  const Artifact good = artifact("a", ArtifactKind::kStaticLibrary, {"one"}, library);
  EXPECT_EQ(message_for({good, artifact("b", ArtifactKind::kCSource, {"three"}, "")}), "");
  const std::string twice = "`two` is defined by an artifact of back end `b` and by one of `a`";
  EXPECT_EQ(message_for({good, artifact("b", ArtifactKind::kCSource, {"two"}, "")}), twice);
  EXPECT_EQ(message_for({artifact("b", ArtifactKind::kRuntimeModule, {"two"}, ""), good}), twice);
}

}  // namespace
}  // namespace tessera::driver
