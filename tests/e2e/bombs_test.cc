// SPDX-License-Identifier: Apache-2.0
// Small files that ask for work or memory without end: compiled or refused, and soon, within
// 8 GB of addresses.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "command.h"
#include "import/testing/model.h"

namespace tessera::e2e {
namespace {

using import::TestModel;

constexpr std::int64_t kHuge = std::int64_t{1} << 28;

class Bombs : public ::testing::Test {
 protected:
  // In native code alone: what a library takes is not the compiler's.
  ProcessResult compile(const TestModel& m) {
    command_.write("m.onnx", m.proto.SerializeAsString());
    const ProcessResult result =
        command_.run_with_limit("-v 8000000 -t 60", {"compile", "m.onnx", "-o", "m.so"});
    EXPECT_LE(result.exit_status, 1) << result.outcome() << result.err;
    EXPECT_EQ(result.err.find("internal error"), std::string::npos) << result.err;
    return result;
  }
  void expect_a_limit(const TestModel& m) {
    const ProcessResult result = compile(m);
    EXPECT_EQ(result.exit_status, 1) << result.out;
    EXPECT_NE(result.err.find("E0"), std::string::npos) << result.err;
  }
  void expect_code(const TestModel& m) {
    const ProcessResult result = compile(m);
    EXPECT_EQ(result.exit_status, 0) << result.err;
  }

  // The result: x + max(value).
  static void finish(TestModel& m, const std::string& value) {
    m.input("x", {1});
    m.node("ReduceMax", {value}, {"top"});
    m.node("Add", {"x", "top"}, {"y"});
    m.output("y");
  }
  static void filled(TestModel& m, const std::string& name, const std::vector<std::int64_t>& size) {
    m.ints(name + "_size", size);
    m.node("ConstantOfShape", {name + "_size"}, {name});
  }

  Command command_;
};

TEST_F(Bombs, LargeConstants) {
  for (const std::int64_t size : {kHuge, 64 * kHuge}) {
    TestModel m;
    filled(m, "zeros", {size});
    finish(m, "zeros");
    compile(m);
  }
}

TEST_F(Bombs, LargeProductsOfConstants) {
  TestModel m;
  filled(m, "a", {16384, 16384});
  filled(m, "b", {16384, 16384});
  m.node("MatMul", {"a", "b"}, {"c"});
  finish(m, "c");
  compile(m);
}

TEST_F(Bombs, LargeWindows) {
  TestModel m;
  m.floats("image", {1, 1, 3, 3}, std::vector<float>(9, 1));
  auto* pool = m.node("AveragePool", {"image"}, {"pooled"});
  import::set_ints(pool, "kernel_shape", {30000, 30000});
  import::set_ints(pool, "pads", {29998, 29998, 29998, 29998});
  finish(m, "pooled");
  compile(m);
}

// Forty functions, of which each calls the one before it twice.
TEST_F(Bombs, FunctionsThatDouble) {
  TestModel m;
  auto* domain = m.proto.add_opset_import();
  domain->set_domain("laughs");
  domain->set_version(1);
  for (int i = 0; i < 40; ++i) {
    auto* f = m.proto.add_functions();
    f->set_domain("laughs");
    f->set_name(fmt::format("f{}", i));
    f->add_input("x");
    f->add_output("z");
    f->add_opset_import()->set_version(17);
    auto* imported = f->add_opset_import();
    imported->set_domain("laughs");
    imported->set_version(1);
    for (const auto& [from, to] : {std::pair("x", "y"), std::pair("y", "z")}) {
      auto* call = f->add_node();
      TestModel::fill(call, i == 0 ? "Neg" : fmt::format("f{}", i - 1), {from}, {to});
      if (i > 0) call->set_domain("laughs");
    }
  }
  m.input("x", {4});
  m.node("f39", {"x"}, {"y"})->set_domain("laughs");
  m.output("y");
  expect_a_limit(m);
}

TEST_F(Bombs, ManyInputs) {
  for (const int count : {4000, 20000}) {
    TestModel m;
    m.input("x", {2, 3});
    std::vector<std::string> parts;
    for (int i = 0; i < count; ++i) parts.push_back("x");
    auto* node = m.node("Concat", parts, {"y"});
    import::set_int(node, "axis", 0);
    m.output("y");
    compile(m);
  }
}

TEST_F(Bombs, ManySums) {
  TestModel m;
  m.input("x", {2, 3});
  m.node("Sum", std::vector<std::string>(4000, "x"), {"y"});
  m.output("y");
  expect_code(m);
}

}  // namespace
}  // namespace tessera::e2e
