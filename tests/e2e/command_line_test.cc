// SPDX-License-Identifier: Apache-2.0
// What the command says of itself, of a word that it does not know, and of models.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "command.h"
#include "import/testing/model.h"
#include "support/testing/requirement.h"

namespace tessera::e2e {
namespace {

TEST(CommandLine, TellsItsVersion) {
  const ProcessResult ran = Command().run({"--version"});
  EXPECT_TRUE(ran.ok()) << ran.err;
  EXPECT_TRUE(ran.out.starts_with("tessera ") && ran.out.find('.') != std::string::npos) << ran.out;
}

TEST(CommandLine, SuggestsTheCommandThatWasMeant) {
  const ProcessResult typo = Command().run({"compil", "m.onnx", "-o", "m.so"});
  EXPECT_EQ(typo.exit_status, 2);
  EXPECT_EQ(typo.err,
            "there is no command `compil`: did you mean `compile`?\n"
            "Run with --help for more information.\n");
  const ProcessResult model = Command().run({"model.onnx"});
  EXPECT_EQ(model.exit_status, 2);
  EXPECT_EQ(model.err, "there is no command `model.onnx`\nRun with --help for more information.\n");
  EXPECT_EQ(Command().run({}).exit_status, 2);
}

// y = x W, after an operator that nobody knows where `unknown` says so.
std::string product(const import::TestModel& folder, bool unknown) {
  import::TestModel m;
  m.input("x.1", {2, 3});
  m.floats("w", {3, 2}, {1, 2, 3, 4, 5, 6});
  if (unknown) m.node("Nothing", {"x.1"}, {"a"}, "front");
  m.node("MatMul", {unknown ? "a" : "x.1", "w"}, {"y"}, "product");
  m.output("y");
  return folder.write_bytes("m.onnx", m.proto.SerializeAsString());
}

TEST(CommandLine, TellsWhatOfAModelIsRefused) {
  const import::TestModel folder;
  const std::string model = product(folder, true);
  const ProcessResult text = Command().run({"check", model});
  EXPECT_EQ(text.exit_status, 1);
  EXPECT_EQ(text.err, "");
  EXPECT_NE(text.out.find("\n  front: Nothing of ai.onnx opset 17\n"), std::string::npos)
      << text.out;
  EXPECT_NE(text.out.find("\n  product: MatMul of ai.onnx opset 17\n"), std::string::npos);
  const ProcessResult json = Command().run({"check", model, "--json"});
  EXPECT_EQ(json.exit_status, 1);
  const auto found = nlohmann::json::parse(json.out);
  EXPECT_EQ(found["compiles"], false);
  EXPECT_EQ(found["refused"][0]["code"], "E0302");
  EXPECT_EQ(found["not_looked_at"][0]["operator"], "MatMul");

  const ProcessResult inspected = Command().run({"inspect", model});
  EXPECT_TRUE(inspected.ok()) << inspected.err;
  EXPECT_NE(inspected.out.find("Nothing  domain ai.onnx  opset 17  count 1  not supported unknown"),
            std::string::npos)
      << inspected.out;
}

TEST(CommandLine, TellsWhatOfAModelIsSlow) {
  const import::TestModel folder;
  const std::string model = product(folder, false);
  const ProcessResult text = Command().run({"check", model, "--partition", "none"});
  EXPECT_TRUE(text.ok()) << text.err;
  EXPECT_NE(text.out.find("\nslow: nn.matmul, native code: no back end was asked\n  product\n"),
            std::string::npos)
      << text.out;
}

TEST(CommandLine, ExportsAModelAsText) {
  const import::TestModel folder;
  const Command command;
  const std::string model = product(folder, false);
  ASSERT_TRUE(command.run({"export-relay", model, "-o", "m.relay"}).ok());
  for (const std::string& what : {model, std::string("m.relay")}) {
    const std::string to = what == model ? "a" : "b";
    const ProcessResult ran = command.run({"run", what, "--target", "cpu", "--outputs", to});
    ASSERT_TRUE(ran.ok()) << ran.err;
  }
  EXPECT_EQ(*read_file(command.file("a/y.npy")), *read_file(command.file("b/y.npy")));
  const ProcessResult printed = command.run({"export-relay", model});
  EXPECT_TRUE(printed.out.starts_with("#[version")) << printed.out;
  EXPECT_NE(printed.out.find("%\"x.1\": Tensor"), std::string::npos) << printed.out;
}

// A machine that is named keeps the back ends that it would have unnamed.
TEST(CommandLine, AMachineKeepsItsBackEnds) {
  Command command;
  command.share_cache();
  if (!testing::is_there("onednn", command.has_backend("onednn"))) GTEST_SKIP() << "no onednn";
  command.write("m.relay", R"(#[version = "0.0.5"]
def @main(%x: Tensor[(8, 16), float32], %w: Tensor[(24, 16), float32]) {
  nn.dense(%x, %w, units=24)
}
)");
  const auto backend_with = [&](const std::vector<std::string>& options) {
    std::vector<std::string> line = {"compile", "m.relay", "-o", "m.so", "--json"};
    line.insert(line.end(), options.begin(), options.end());
    const ProcessResult ran = command.run(line);
    EXPECT_TRUE(ran.ok()) << ran.err;
    const bool has_onednn = ran.out.find("\"backend\": \"onednn\"") != std::string::npos;
    return has_onednn ? "onednn" : "another";
  };
  EXPECT_STREQ(backend_with({}), "onednn");
  EXPECT_STREQ(backend_with({"--target", "cpu"}), "onednn");
  EXPECT_STREQ(backend_with({"--target", "cpu -mcpu=x86-64-v3"}), "onednn");
  EXPECT_STREQ(backend_with({"--target", R"({"kind": "cpu", "opt": 2})"}), "onednn");
  EXPECT_STREQ(backend_with({"--target", "cpu", "--target", "blas"}), "another");
  EXPECT_STREQ(backend_with({"--target", "cpu -opt=1", "--backends", "blas"}), "another");
  EXPECT_STREQ(backend_with({"--target", "cpu", "--partition", "none"}), "another");
}

}  // namespace
}  // namespace tessera::e2e
