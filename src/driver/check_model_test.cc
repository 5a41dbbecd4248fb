// SPDX-License-Identifier: Apache-2.0
#include "driver/check_model.h"

#include "driver/testing/dynamic_shapes.h"

namespace tessera::driver {
namespace {

class CheckModel : public testing::DynamicShapes {
 protected:
  // What the first error of the text says.
  Diagnostic refusal_of(const std::string& text) {
    CompileOptions o;
    o.model = folder_.file("refused.relay");
    o.output = folder_.file("refused.so");
    o.targets = {Target("cpu")};
    EXPECT_TRUE(write_atomically(o.model, "#[version = \"0.0.5\"]\n" + text));
    const auto report = compile(o);
    EXPECT_FALSE(report) << text;
    return report ? Diagnostic() : report.error().list.front();
  }
};

constexpr const char* kLoops = R"(
@twice = tir {
@T.prim_func
def twice(x: T.Buffer((8,), "float32"), *, y: T.Buffer((8,), "float32")):
  for i in T.grid(8):
    y[i] = x[i] * 2.0
}
)";

// They are for a GPU here: nothing is made of them, whatever the target.
TEST_F(CheckModel, LoopFunctionsOfATextAreLeftAway) {
  options_.dump_dir = folder_.file("dump");
  compile_text(std::string("def @main(%x: Tensor[(8), float32]) { abs(%x) }") + kLoops);
  expect_right({});
  EXPECT_EQ(read_file(options_.dump_dir + "/kernels_0.cc")->find("twice"), std::string::npos);
}

TEST_F(CheckModel, LoopFunctionsOfATextAreNotCalled) {
  for (const char* call : {"@twice(%x)", "call_lowered(@twice, (%x,))"}) {
    const Diagnostic d =
        refusal_of(std::string("def @main(%x: Tensor[(8), float32]) { ") + call + " }" + kLoops);
    EXPECT_EQ(d.code, Code::kNotSupported);
    EXPECT_NE(d.message.find("`@twice` is a loop function"), std::string::npos) << d.message;
    EXPECT_FALSE(d.remedy.empty());
    EXPECT_NE(to_string(d.location).find("refused.relay:2:"), std::string::npos);
  }
}

// Passes, back ends and lowering ask one question of `Primitive`, and values that are no answer are
// refused.
TEST_F(CheckModel, APrimitiveFunctionIsOneToEverybody) {
  const auto model = [](const std::string& value) {
    return "def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(2, 3), float32]) {\n"
           "  %0 = fn (%p: Tensor[(2, 3), float32], Primitive=" +
           value + ") { add(abs(%p), %p) };\n  subtract(%0(%x), %y)\n}\n";
  };
  const Diagnostic d = refusal_of(model("[[]]"));
  EXPECT_EQ(d.code, Code::kWrongAttribute);
  EXPECT_NE(d.message.find("`Primitive` of a function must be an integer"), std::string::npos);
  compile_text(model("0"));
  expect_right({});
  compile_text(model("1"));
  expect_right({});
}

}  // namespace
}  // namespace tessera::driver
