// SPDX-License-Identifier: Apache-2.0
#include "constants/safetensors.h"

#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "support/files.h"
#include "support/testing/expect_contains.h"

namespace tessera {
namespace {

using tessera::testing::expect_contains;

std::string file_text(const std::string& header, const std::string& data) {
  std::string text(8, '\0');
  const std::uint64_t size = header.size();
  std::memcpy(text.data(), &size, 8);
  return text + header + data;
}

class Safetensors : public ::testing::Test {
 protected:
  Result<std::map<std::string, Tensor>> read(std::string_view content) const {
    EXPECT_TRUE(write_atomically(dir_->file("x"), content));
    return read_safetensors(dir_->file("x"));
  }
  // The messages about a file with this header and 8 bytes of data.
  std::string problem(const std::string& header) const {
    const auto result = read(file_text(header, "12345678"));
    if (result) return "accepted";
    for (const auto& d : result.error().list) EXPECT_EQ(d.code, Code::kBadSafetensors);
    return render(result.error());
  }
  FileResult<TempDir> dir_ = TempDir::make("tessera-test-");
};

TEST_F(Safetensors, ReadsAllTypesAtAnyAlignment) {
  const char* names[] = {"BOOL", "U8",  "I8",  "I16", "U16", "F16", "BF16",
                         "I32",  "U32", "F32", "F64", "I64", "U64"};
  std::string header = R"({"__metadata__": {"format": "pt"})", data;
  for (const char* name : names) {
    const auto bytes = name[std::strlen(name) - 1] == '4'   ? 8u
                       : name[std::strlen(name) - 1] == '2' ? 4u
                       : name[std::strlen(name) - 1] == '6' ? 2u
                                                            : 1u;
    header += ", \"" + std::string(name) + "\": {\"dtype\": \"" + name + "\", \"shape\": [1, 3], " +
              "\"data_offsets\": [" + std::to_string(data.size()) + ", ";
    data += std::string(bytes, '\0') + std::string("\1") + std::string(bytes * 2 - 1, '\0');
    header += std::to_string(data.size()) + "]}";
  }
  header +=
      R"(, "empty": {"dtype": "F32", "shape": [0, 4], "data_offsets": [0, 0]}, "scalar": {"dtype":
              "I8", "shape": [], "data_offsets": [)" +
      std::to_string(data.size()) + ", " + std::to_string(data.size() + 1) + "]}}";
  const auto tensors = read(file_text(header, data + "\5"));
  ASSERT_TRUE(tensors) << render(tensors.error());
  EXPECT_EQ(tensors->size(), std::size(names) + 2);
  for (const char* name : names) {
    const Tensor& tensor = tensors->at(name);
    EXPECT_EQ(tensor.shape, (std::vector<std::int64_t>{1, 3}));
    EXPECT_EQ(element_as_double(tensor, 0), 0) << name;
    EXPECT_NE(element_as_double(tensor, 1), 0) << name;
  }
  EXPECT_EQ(tensors->at("I32").as<std::int32_t>()[1], 1);
  EXPECT_EQ(tensors->at("BF16").dtype, kBFloat16);
  EXPECT_EQ(tensors->at("empty").num_elements(), 0);
  EXPECT_EQ(element_as_int(tensors->at("scalar"), 0), 5);
}

TEST_F(Safetensors, DamagedFiles) {
  const auto code_of = [](const auto& result) { return result.error().list.front().code; };
  EXPECT_EQ(code_of(read_safetensors(dir_->file("none"))), Code::kFileNotFound);
  EXPECT_EQ(code_of(read("")), Code::kFileEmpty);
  expect_contains(render(read("1234").error()), "the file is too short for a header");
  expect_contains(render(read(std::string(8, '\xff') + "{}").error()), "bytes follow");
  expect_contains(problem("{"), "the header is not a JSON object");
  expect_contains(problem("[]"), "the header is not a JSON object");
  expect_contains(problem(std::string(100000, '[')), "the header is not a JSON object");
}

TEST_F(Safetensors, DamagedEntries) {
  expect_contains(problem(R"({"a": 1})"), "tensor `a`: its entry has no valid `dtype`");
  expect_contains(problem(R"({"a": {"dtype": "F32", "shape": [-2], "data_offsets": [0, 8]}})"),
                  "its entry has no valid");
  expect_contains(problem(R"({"a": {"dtype": "F32", "shape": [2.5], "data_offsets": [0, 8]}})"),
                  "its entry has no valid");
  expect_contains(problem(R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0]}})"),
                  "its entry has no valid");
  expect_contains(problem(R"({"a": {"dtype": "F8_E4M3", "shape": [8], "data_offsets": [0, 8]}})"),
                  "the data type `F8_E4M3` is not supported");
  expect_contains(problem(R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 9]}})"),
                  "its offsets 0..9 do not lie inside the 8 bytes of data");
  expect_contains(problem(R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [8, 0]}})"),
                  "its offsets 8..0 do not lie inside");
  expect_contains(problem(R"({"a": {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]}})"),
                  "its shape and type take 12 bytes, its offsets hold 8");
  expect_contains(
      problem(
          R"({"a": {"dtype": "F32", "shape": [4611686018427387904, 4], "data_offsets": [0, 8]}})"),
      "its size overflows");
}

TEST_F(Safetensors, DamagedLayout) {
  const std::string a = R"("a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]})";
  const std::string b = R"("b": {"dtype": "U8", "shape": [5], "data_offsets": [3, 8]})";
  const std::string c = R"("c": {"dtype": "U8", "shape": [3], "data_offsets": [5, 8]})";
  expect_contains(problem("{" + a + ", " + b + "}"),
                  "tensor `b`: its data overlap those of another tensor");
  expect_contains(problem("{" + a + ", " + c + "}"), "tensor `c`: 1 bytes before it are unused");
  expect_contains(problem("{" + a + "}"), "4 bytes at the end are unused");
  expect_contains(problem("{" + a + ", " + a + "}"), "tensor `a`: the name is there twice");
}

TEST_F(Safetensors, EveryProblemIsReported) {
  const std::string text =
      problem(R"({"a": 1, "b": 2, "c": {"dtype": "X", "shape": [], "data_offsets": [0, 0]}})");
  for (const char* part : {"tensor `a`", "tensor `b`", "tensor `c`"}) expect_contains(text, part);
}

TEST_F(Safetensors, AnyDamageIsAnErrorAndNothingWorse) {
  const std::string good = file_text(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                                     R"("b":{"dtype":"U8","shape":[2,2],"data_offsets":[4,8]}})",
                                     "12345678");
  ASSERT_TRUE(read(good));
  std::mt19937 random(5);
  for (int i = 0; i < 500; ++i) {
    std::string bent = good;
    for (auto n = random() % 3 + 1; n > 0; --n)
      bent[random() % bent.size()] = static_cast<char>(random() % 128);
    const auto tensors = read(bent);
    EXPECT_TRUE(tensors || !render(tensors.error()).empty());
  }
}

}  // namespace
}  // namespace tessera
