// SPDX-License-Identifier: Apache-2.0
// What would be refused of a model, each reason once with all its places, and what would be slow.
#include "driver/acceptance.h"

#include "driver/testing/model_test.h"
#include "import/testing/model.h"

namespace tessera::driver {
namespace {

using import::TestModel;

class AcceptanceTest : public testing::ModelTest {
 protected:
  Acceptance check(const std::string& onnx) {
    CompileOptions o = options("");
    o.model = onnx;
    return check_acceptance(o);
  }
};

TEST_F(AcceptanceTest, OneReasonHasAllItsNodes) {
  TestModel m;
  m.input("x", {2, 3});
  m.node("Nothing", {"x"}, {"a"}, "one");
  m.node("Relu", {"a"}, {"b"}, "after");
  m.node("Nothing", {"x"}, {"c"}, "two");
  m.node("Other", {"c"}, {"d"}, "three");
  for (const char* name : {"b", "d"}) m.output(name);
  const Acceptance found = check(m.write());
  ASSERT_EQ(found.refused.size(), 2u);
  EXPECT_EQ(found.refused[0].why.message,
            "operator `Nothing` of ai.onnx opset 17 is not supported");
  ASSERT_EQ(found.refused[0].places.size(), 2u);
  EXPECT_EQ(found.refused[0].places[1].place, "two");
  ASSERT_TRUE(found.refused[0].places[1].node);
  EXPECT_EQ(found.refused[0].places[1].node->op_type, "Nothing");
  EXPECT_EQ(found.refused[0].places[1].node->domain, "ai.onnx");
  EXPECT_EQ(found.refused[1].places[0].place, "three");
  ASSERT_EQ(found.not_looked_at.size(), 1u);
  EXPECT_EQ(found.not_looked_at[0].name, "after");
}

TEST_F(AcceptanceTest, ProductsInNativeCodeAndHalvesOnACpuAreSlow) {
  TestModel m;
  m.input("x", {4, 8}, onnx::TensorProto::FLOAT16);
  m.input("w", {8, 4}, onnx::TensorProto::FLOAT16);
  m.node("MatMul", {"x", "w"}, {"y"}, "product");
  m.output("y");
  const Acceptance found = check(m.write());
  EXPECT_TRUE(found.refused.empty());
  ASSERT_EQ(found.slow.size(), 2u);
  EXPECT_EQ(found.slow[0].what, "nn.matmul");
  EXPECT_EQ(found.slow[0].reason, "native code: no back end was asked");
  EXPECT_EQ(found.slow[0].places, std::vector<std::string>{"product"});
  EXPECT_EQ(found.slow[1].what, "float16");
  EXPECT_FALSE(read_file(folder_.file("m.so"))) << "no library is made";
}

TEST_F(AcceptanceTest, ALoopIsSlowAndTextsAndMissingFilesAreRefusedWithTheirPlaces) {
  const Acceptance found = check_acceptance(
      options("def @loop(%i: int32, %x: Tensor[(4), float32]) -> Tensor[(4), float32] {\n"
              "  if (less(%i, 9)) { @loop(add(%i, 1), exp(%x)) } else { %x }\n}\n"
              "def @main(%x: Tensor[(4), float32]) { @loop(0, %x) }\n"));
  EXPECT_TRUE(found.refused.empty());
  ASSERT_EQ(found.slow.size(), 1u);
  EXPECT_EQ(found.slow[0].what, "loops");
  EXPECT_EQ(found.slow[0].places, std::vector<std::string>{"5:39"});

  const Acceptance text = check_acceptance(options("def @main(%x: int32) { %nobody }"));
  ASSERT_EQ(text.refused.size(), 1u);
  EXPECT_EQ(text.refused[0].places[0].place, "2:24");
  EXPECT_FALSE(text.refused[0].places[0].node);

  const Acceptance missing = check("/no/such/model.onnx");
  ASSERT_EQ(missing.refused.size(), 1u);
  EXPECT_EQ(missing.refused[0].why.code, Code::kFileNotFound);
}

}  // namespace
}  // namespace tessera::driver
