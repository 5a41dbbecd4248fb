// SPDX-License-Identifier: Apache-2.0
#include "driver/source_files.h"

#include <gtest/gtest.h>

#include "constants/npy.h"
#include "import/testing/model.h"

namespace tessera::driver {
namespace {

using Files = std::vector<std::string>;

CompileOptions options_with(const std::string& model, const std::string& records = "") {
  CompileOptions options;
  options.model = model;
  options.records = records;
  return options;
}

TEST(SourceFiles, OfOnnxAreTheModelItsDataAndTheRecords) {
  import::TestModel m;
  m.input("x", {3});
  m.external("w", 3, "w.bin");
  m.external("v", 3, "w.bin", "12");
  onnx::NodeProto* constant = m.node("Constant", {}, {"u"});
  auto* value = constant->add_attribute();
  value->set_name("value");
  auto* entry = value->mutable_t()->add_external_data();
  value->mutable_t()->set_data_location(onnx::TensorProto::EXTERNAL);
  entry->set_key("location");
  entry->set_value("sub/u.bin");
  m.output("x");
  const std::string model = m.write_bytes("m.onnx", m.proto.SerializeAsString());
  const std::string folder = model.substr(0, model.rfind('/') + 1);
  const auto files = source_files(options_with(model, folder + "./r.db"));
  ASSERT_TRUE(files) << render(files.error());
  EXPECT_EQ(*files, (Files{model, folder + "sub/u.bin", folder + "w.bin", folder + "r.db"}));
}

TEST(SourceFiles, OfTextAreThoseOfItsConstants) {
  const TempDir folder = *TempDir::make("source-files-test");
  const std::string text = folder.file("m.relay");
  ASSERT_TRUE(write_atomically(text,
                               "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2), float32]) "
                               "{ nn.relu(%x) }\n"));
  const auto files = source_files(options_with(text));
  ASSERT_TRUE(files) << render(files.error());
  EXPECT_EQ(*files, Files{text});
  const std::string beside = folder.file("m.npz");
  ASSERT_TRUE(write_npz(beside, {{"0", Tensor::scalar(2.F, kFloat32)}}));
  ASSERT_TRUE(write_atomically(text,
                               "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2), float32]) "
                               "{ multiply(%x, meta[relay.Constant][0]) }\n"
                               "#[metadata in \"m.npz\"]\n"));
  const auto both = source_files(options_with(text));
  ASSERT_TRUE(both) << render(both.error());
  EXPECT_EQ(*both, (Files{text, beside}));
  EXPECT_EQ(*source_files(options_with("-")), Files{});
  EXPECT_FALSE(source_files(options_with(folder.file("missing.relay"))));
}

TEST(SourceFiles, ARuleCannotSayMoreThanNames) {
  EXPECT_EQ(*dependency_rule("a b.so", {"$(x)", "c:d#e"}),
            "a\\ b.so: \\\n  $$(x) \\\n  c\\:d\\#e\n");
  const auto refused = dependency_rule("m.so", {"w\nall: evil"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().list[0].code, Code::kBadOption);
  EXPECT_FALSE(dependency_rule("m.so", {"a\\ b"}));  // make would read two names
}

}  // namespace
}  // namespace tessera::driver
