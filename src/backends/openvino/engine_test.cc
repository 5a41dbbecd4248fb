// SPDX-License-Identifier: Apache-2.0
// What becomes of a region whose process crashes, hangs or says something: scripts in place of the
// command, so that no OpenVINO is needed.
#include "backends/openvino/engine.h"

#include <chrono>
#include <filesystem>
#include <map>

#include <gtest/gtest.h>

#include "backends/openvino/export_files.h"
#include "support/files.h"

namespace tessera::backends::openvino {
namespace {

const Type kType = tensor_type({Dim(2), parse_dim_expression("n").value()}, kFloat32);

class EngineTest : public ::testing::Test {
 protected:
  // $1 is `work`, $2 the back end, $3 the folder.
  Expected<std::string, relay::Refusal> compile_by(const std::string& script) {
    const std::string path = folder_.file("command");
    EXPECT_TRUE(write_atomically(path, "#!/bin/sh\n" + script + "\n"));
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return compile_graph({path, 1, keeper_}, write, {kType}, version_);
  }
  std::string refusal_of(const std::string& script) {
    const auto payload = compile_by(script);
    return payload ? "none: " + *payload : payload.error().reason;
  }
  static Expected<void, relay::Refusal> write(IrWriter& out) {
    out.result(out.input(kType));
    return {};
  }
  const Toolchain* keeper_ = nullptr;
  std::string version_ = "2026.4";
  TempDir folder_ = *TempDir::make("tessera-engine-test-");
};

TEST_F(EngineTest, ACrashCostsTheRegionAndIsTold) {
  EXPECT_EQ(refusal_of("kill -SEGV $$"),
            "OpenVINO's process ended: signal 11 (Segmentation fault)");
}

TEST_F(EngineTest, AHangCostsTheRegionAndIsTold) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(refusal_of("sleep 60"), "OpenVINO's process ended: it hangs");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

TEST_F(EngineTest, WhatItPrintsIsNoResult) {
  EXPECT_EQ(refusal_of("echo +made"), "OpenVINO's process ended without a word");
  EXPECT_NE(refusal_of("exit 3").find("OpenVINO's process ended: "), std::string::npos);
}

TEST_F(EngineTest, TakesThePayloadOrTheSentence) {
  EXPECT_EQ(compile_by("printf '+made' > $3/result").value(), "made");
  EXPECT_EQ(refusal_of("printf -- '-it is too cold' > $3/result"), "it is too cold");
}

// What is exported wrong is exported once more, in other forms.
TEST_F(EngineTest, TriesOtherFormsWhereNumbersDiffer) {
  const std::string mark = folder_.file("mark");
  EXPECT_EQ(compile_by("if [ -e " + mark + " ]; then printf '+second' > $3/result; else touch " +
                       mark + "; printf '~' > $3/result; fi")
                .value(),
            "second");
  EXPECT_EQ(refusal_of("printf '~' > $3/result"),
            "what OpenVINO exports of the region computes other numbers than the region");
  EXPECT_EQ(refusal_of("printf '?' > $3/result"),
            "what OpenVINO exports of the region cannot be tried with inputs");
}

class Keeper final : public Toolchain {
 public:
  Result<std::vector<std::string>> compile(std::span<const CompileJob>) override {
    return std::vector<std::string>{};
  }
  Result<std::string> archive(std::span<const std::string>) override { return std::string(); }
  std::string identity() const override { return "none"; }
  std::optional<std::string> find_made(const Hash128& key) const override {
    const auto at = made_.find(key);
    return at == made_.end() ? std::nullopt : std::optional(at->second);
  }
  void keep_made(const Hash128& key, std::string_view made) const override { made_[key] = made; }

 private:
  mutable std::map<Hash128, std::string> made_;
};

TEST_F(EngineTest, WhatWasMadeOnceIsNotMadeAgain) {
  const Keeper keeper;
  keeper_ = &keeper;
  EXPECT_EQ(refusal_of("printf -- '-no memory' > $3/result"), "no memory");
  EXPECT_EQ(compile_by("printf '+made' > $3/result").value(), "made");
  EXPECT_EQ(compile_by("kill -SEGV $$").value(), "made");
  version_ = "2026.5";
  EXPECT_EQ(compile_by("printf '+other' > $3/result").value(), "other");
}

TEST_F(EngineTest, TheRequestIsReadAsItWasWritten) {
  IrWriter graph;
  ASSERT_TRUE(write(graph));
  ASSERT_TRUE(write_request(folder_, graph, {kType, tensor_type({}, kInt64)}));
  const auto request = read_request(folder_.path());
  ASSERT_TRUE(request);
  EXPECT_EQ(request->xml, graph.xml());
  EXPECT_EQ(request->bytes.bytes().size(), graph.bytes().size());
  EXPECT_TRUE(request->has_open_sizes);
  ASSERT_EQ(request->parameters.size(), 2u);
  EXPECT_EQ(request->parameters[0], tensor_type({2, 4}, kFloat32)) << "an open size is small";
  EXPECT_EQ(request->parameters[1], tensor_type({}, kInt64));
}

}  // namespace
}  // namespace tessera::backends::openvino
