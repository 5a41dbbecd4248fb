// SPDX-License-Identifier: Apache-2.0
// Files and tensors of models that cannot be imported.
#include <filesystem>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "import/testing/refusals.h"

namespace tessera::import {
namespace {

namespace fs = std::filesystem;

// ---- Files ----

TEST(BadFile, Missing) {
  const TestModel m;
  expect_refused(import_onnx(m.file("none.onnx")),
                 {{Code::kFileNotFound, "", "none.onnx` does not exist"}});
}

TEST(BadFile, Folder) {
  const TestModel m;
  expect_refused(import_onnx(m.file("")), {{Code::kFileNotFound, "", "is a folder"}});
}

TEST(BadFile, Empty) {
  const TestModel m;
  expect_refused(import_onnx(m.write_bytes("e.onnx", "")), {{Code::kFileEmpty, "", "is empty"}});
}

TEST(BadFile, AnotherFormat) {
  const TestModel m;
  for (const std::string bytes : {"PK\x03\x04 this is a zip file", "\x89PNG\r\n", "{\"a\": 1}",
                                  "#[version = \"0.0.5\"]\ndef @main() { 1 }"}) {
    expect_refused(import_onnx(m.write_bytes("m.onnx", bytes)),
                   {{Code::kNotOnnx, "", "is not an ONNX model"}});
  }
}

// Nobody writes into it: opening it must not wait.
TEST(BadFile, Pipe) {
  const TestModel m;
  ASSERT_EQ(::mkfifo(m.file("m.onnx").c_str(), 0600), 0);
  expect_refused(import_onnx(m.file("m.onnx")), {{Code::kUntrustedFile, "", "is a pipe"}});
}

// No beginning of a model is a model, wherever it was cut.
TEST(BadFile, TruncatedAnywhere) {
  TestModel m = relu_model();
  m.floats("w", {100}, std::vector<float>(100, 1));
  const std::string whole = m.proto.SerializeAsString();
  for (std::size_t size = 1; size < whole.size(); size += 7) {
    const auto result = import_onnx(m.write_bytes("m.onnx", whole.substr(0, size)));
    EXPECT_FALSE(result) << size;
  }
  const auto cut = import_onnx(m.write_bytes("m.onnx", whole.substr(0, whole.size() / 2)));
  expect_refused(cut, {{Code::kNotOnnx, "", "truncated"}});
}

TEST(BadFile, NewerOpset) {
  expect_refused(relu_model(29).import(),
                 {{Code::kUnsupportedOnnxNode, "", "is of opset 29; opsets up to 28"}});
}

TEST(BadFile, GraphsWithinEachOther) {
  TestModel m = relu_model();
  onnx::GraphProto* graph = m.proto.mutable_graph();
  for (int i = 0; i < 250; ++i) {
    auto* branch = graph->add_node()->add_attribute();
    branch->set_name("then_branch");
    branch->set_type(onnx::AttributeProto::GRAPH);
    graph = branch->mutable_g();
  }
  expect_refused(m.import(), {{Code::kUnsupportedOnnxNode, "", "200 graphs within each other"}});
}

// ---- Tensors ----

TEST(BadTensor, NegativeSize) {
  TestModel m = relu_model();
  m.floats("w", {2, -1}, {1, 2});
  expect_refused(m.import(), {{Code::kBadDimension, "node `w`", "negative size -1"}});
}

TEST(BadTensor, SizeOverflow) {
  TestModel m = relu_model();
  m.floats("w", {std::int64_t{1} << 40, std::int64_t{1} << 40}, {1});
  expect_refused(m.import(), {{Code::kBadDimension, "node `w`", "overflows"}});
}

TEST(BadTensor, DataDoNotFit) {
  TestModel m = relu_model();
  m.floats("short", {4}, {1, 2});
  m.floats("long", {1}, std::vector<float>(100, 0));
  expect_refused(m.import(), {{Code::kBadOnnxTensor, "node `short`",
                               "8 bytes of data where its "
                               "shape and type need 16"},
                              {Code::kBadOnnxTensor, "node `long`", "400 bytes"}});
}

TEST(BadTensor, DataInTheFieldOfAnotherType) {
  TestModel m = relu_model();
  auto* t = m.floats("w", {2}, {});
  t->clear_raw_data();
  t->add_int64_data(1);
  t->add_int64_data(2);
  expect_refused(m.import(), {{Code::kBadOnnxTensor, "node `w`", "0 bytes"}});
}

TEST(BadTensor, TypeWithoutNumbers) {
  TestModel m = relu_model();
  m.floats("w", {1}, {1})->set_data_type(onnx::TensorProto::FLOAT8E8M0);
  m.floats("v", {1}, {1})->set_data_type(onnx::TensorProto::STRING);
  expect_refused(m.import(), {{Code::kUnsupportedOnnxNode, "node `w`", "FLOAT8E8M0"},
                              {Code::kUnsupportedOnnxNode, "node `v`", "STRING"}});
}

// A reference that our reader writes into doc_string must not be taken from the file.
TEST(BadTensor, ForgedReference) {
  TestModel m = relu_model();
  m.floats("w", {1}, {1})->set_doc_string("raw:7");
  EXPECT_TRUE(m.import());
}

TEST(ExternalData, IsRead) {
  TestModel m = relu_model();
  const float values[] = {9, 1, 2, 3};
  m.write_bytes("w.bin", std::string(reinterpret_cast<const char*>(values), sizeof values));
  m.external("w", 3, "w.bin", "4");
  m.proto.mutable_graph()->mutable_node(0)->set_op_type("Add");
  m.proto.mutable_graph()->mutable_node(0)->add_input("w");
  const auto module = m.import();
  ASSERT_TRUE(module) << render(module.error());
  ASSERT_EQ(module->constants.size(), 1u);
  EXPECT_EQ(module->constants.tensors()[0], Tensor::of<float>({3}, kFloat32, {1, 2, 3}));
}

TEST(ExternalData, Missing) {
  TestModel m = relu_model();
  m.external("w", 3, "none.bin");
  expect_refused(m.import(),
                 {{Code::kExternalData, "node `w`", "none.bin`, which cannot be read"}});
}

TEST(ExternalData, Short) {
  TestModel m = relu_model();
  m.write_bytes("w.bin", "12345678");
  m.external("w", 3, "w.bin");
  m.external("v", 1, "w.bin", "6");
  m.external("u", 1, "w.bin", "99999999999");
  expect_refused(m.import(), {{Code::kExternalData, "node `w`", "needs 12 bytes at 0"},
                              {Code::kExternalData, "node `v`", "needs 4 bytes at 6"},
                              {Code::kExternalData, "node `u`", "at 99999999999"}});
}

TEST(ExternalData, OutsideOfTheFolder) {
  TestModel m = relu_model();
  m.external("a", 1, "../secret.bin");
  m.external("b", 1, "/etc/passwd");
  m.external("c", 1, "sub/../../secret.bin");
  expect_refused(m.import(), {{Code::kExternalData, "node `a`", "leads out of the model's folder"},
                              {Code::kExternalData, "node `b`", "leads out"},
                              {Code::kExternalData, "node `c`", "leads out"}});
}

// Whoever made the folder also made its links.
TEST(ExternalData, IsNoLinkOutOfTheFolder) {
  const TestModel elsewhere;
  const std::string secret = elsewhere.write_bytes("secret.bin", std::string(64, 's'));
  TestModel m = relu_model();
  fs::create_symlink(secret, m.file("a.bin"));
  fs::create_directory_symlink(fs::path(secret).parent_path(), m.file("sub"));
  fs::create_symlink("a.bin", m.file("c.bin"));
  m.external("a", 1, "a.bin");
  m.external("b", 1, "sub/secret.bin");
  m.external("c", 1, "c.bin");
  expect_refused(m.import(),
                 {{Code::kUntrustedFile, "node `a`", "a link out of the model's folder"},
                  {Code::kUntrustedFile, "node `b`", "a link out"},
                  {Code::kUntrustedFile, "node `c`", "a link out"}});
}

// As caches of downloads have it: both files elsewhere, with links to them side by side.
TEST(ExternalData, MayBeALinkToWhereTheModelLies) {
  TestModel m = relu_model();
  fs::create_directory(m.file("blobs"));
  fs::create_directory(m.file("snapshot"));
  m.write_bytes("blobs/2", std::string(12, '\0'));
  m.external("w", 3, "w.bin");
  m.write_bytes("blobs/1", m.proto.SerializeAsString());
  fs::create_symlink("../blobs/1", m.file("snapshot/model.onnx"));
  fs::create_symlink("../blobs/2", m.file("snapshot/w.bin"));
  const auto linked = import_onnx(m.file("snapshot/model.onnx"));
  EXPECT_TRUE(linked) << render(linked.error());
  fs::create_symlink("blobs/2", m.file("w.bin"));  // below the model's folder
  EXPECT_TRUE(m.import());
}

TEST(ExternalData, IsNoPipe) {
  TestModel m = relu_model();
  ASSERT_EQ(::mkfifo(m.file("w.bin").c_str(), 0600), 0);
  m.external("w", 3, "w.bin");
  expect_refused(m.import(), {{Code::kUntrustedFile, "node `w`", "a pipe or a device"}});
}

TEST(ExternalData, NoNumbers) {
  TestModel m = relu_model();
  m.external("a", 1, "w.bin", "-4");
  m.external("b", 1, "");
  expect_refused(m.import(), {{Code::kExternalData, "node `a`", "no number"},
                              {Code::kExternalData, "node `b`", "missing"}});
}

}  // namespace
}  // namespace tessera::import
