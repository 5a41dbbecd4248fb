// SPDX-License-Identifier: Apache-2.0
#include "relay/verify.h"

#include <gtest/gtest.h>

#include "relay/testing/operators.h"

namespace tessera::relay {
namespace {

using testing::op;

const Type kFourFloats = tensor_type({4}, kFloat32);

std::string findings(const Function& f) {
  std::string out;
  for (const Diagnostic& d : verify(f).list) out += (out.empty() ? "" : "; ") + d.message;
  return out;
}

TEST(Verify, WellFormed) {
  FunctionBuilder b;
  const NodeId x = b.param("x", kFourFloats);
  const RegionId body = b.begin_region();
  const NodeId p = b.param("p", kFourFloats);
  b.end_region(b.call(op("add"), {p, x}));  // captures, which a plain literal may
  const NodeId literal = b.literal(body, {});
  EXPECT_EQ(findings(b.finish(b.call_value(literal, std::vector{x}))), "");
}

TEST(Verify, ValuesOfOtherRegionsAreOutOfReach) {
  FunctionBuilder b;
  const NodeId x = b.param("x", kFourFloats), c = b.param("c", tensor_type({}, kBool));
  const RegionId yes = b.begin_region();
  const NodeId inside = b.call(op("exp"), {x});
  b.end_region(inside);
  const RegionId no = b.begin_region();
  b.end_region(inside);
  const NodeId branch = b.if_(c, yes, no);
  EXPECT_EQ(
      findings(b.finish(b.call(op("add"), {branch, inside}))),
      "a branch or function literal returns a value that it does not see; a node uses a value "
      "from inside another branch or function literal");
}

// A loop refers to its own name; what is inside of its branches stays there.
TEST(Verify, Loops) {
  FunctionBuilder b;
  const NodeId i = b.param("i", tensor_type({}, kInt64)), x = b.param("x", kFourFloats);
  const NodeId goes_on = b.call(op("less"), {i, i});
  const RegionId again = b.begin_region();
  const NodeId next = b.call(op("exp"), {x});
  b.end_region(b.call_value(b.global("loop"), std::vector{i, next}));
  const RegionId done = b.begin_region();
  b.end_region(x);
  EXPECT_EQ(findings(b.finish(b.if_(goes_on, again, done))), "");

  FunctionBuilder wrong;
  const NodeId v = wrong.param("x", kFourFloats), c = wrong.param("c", tensor_type({}, kBool));
  const RegionId first = wrong.begin_region();
  const NodeId inside = wrong.call(op("exp"), {v});
  wrong.end_region(wrong.call_value(wrong.global("loop"), std::vector{inside}));
  const RegionId second = wrong.begin_region();
  wrong.end_region(wrong.call_value(wrong.global("loop"), std::vector{inside}));
  EXPECT_EQ(findings(wrong.finish(wrong.if_(c, first, second))),
            "a node uses a value from inside another branch or function literal");
}

TEST(Verify, ARegionHasOneOwner) {
  FunctionBuilder b;
  const NodeId x = b.param("x", kFourFloats);
  const RegionId body = b.begin_region();
  b.end_region(b.call(op("exp"), {x}));
  const NodeId first = b.literal(body, {}), second = b.literal(body, {});
  EXPECT_EQ(findings(b.finish(b.tuple(std::vector{first, second}))), "a region has two owners");
}

TEST(Verify, Arity) {
  FunctionBuilder b;
  const NodeId x = b.param("x", kFourFloats);
  EXPECT_EQ(findings(b.finish(b.call(op("add"), {x}))), "`add` has 1 operands");
}

TEST(Verify, AttributesThatTheCompilerGoesByHaveValuesOfTheirKind) {
  const auto findings = [](const Attrs& attrs, bool of_literal) {
    FunctionBuilder b;
    const NodeId x = b.param("x", tensor_type({4}, kFloat32));
    NodeId result = x;
    if (of_literal) {
      const RegionId body = b.begin_region();
      b.end_region(b.param("y", tensor_type({4}, kFloat32)));
      result = b.call_value(b.literal(body, attrs, {}), std::vector{x});
    }
    return verify(b.finish(result, of_literal ? Attrs() : attrs));
  };
  for (const bool of_literal : {false, true}) {
    for (const char* name : {"Primitive", "Extern", "Inline", "SkipOptimization"}) {
      EXPECT_TRUE(findings({{name, 1}}, of_literal).empty());
      EXPECT_TRUE(findings({{name, true}}, of_literal).empty());
      for (const AttrValue& value :
           {AttrValue(AttrArray{AttrValue(AttrArray())}), AttrValue("1"), AttrValue(1.0)}) {
        const Diagnostics found = findings({{name, value}}, of_literal);
        ASSERT_EQ(found.list.size(), 1u) << name;
        EXPECT_EQ(found.list[0].code, Code::kWrongAttribute);
        EXPECT_FALSE(found.list[0].remedy.empty());
      }
    }
    for (const char* name : {"Compiler", "Composite", "global_symbol", "PartitionedFromPattern"}) {
      EXPECT_TRUE(findings({{name, "a"}}, of_literal).empty());
      EXPECT_FALSE(findings({{name, 1}}, of_literal).empty());
    }
  }
}

TEST(Verify, OffloadedLiteralsCaptureNothing) {
  const std::pair<const char*, AttrValue> marks[] = {
      {"Primitive", 1}, {"Compiler", "a"}, {"Composite", "a.b"}};
  for (const auto& [attribute, value] : marks) {
    FunctionBuilder b;
    const NodeId x = b.param("x", kFourFloats);
    const RegionId outer = b.begin_region();
    const RegionId inner = b.begin_region();
    b.end_region(b.call(op("exp"), {x}));
    b.end_region(b.call_value(b.literal(inner, {}), {}));
    const NodeId literal = b.literal(outer, {{attribute, value}});
    EXPECT_NE(findings(b.finish(b.call_value(literal, {}))).find(std::string("with `") + attribute),
              std::string::npos)
        << "also where a literal inside it captures";
  }
}

}  // namespace
}  // namespace tessera::relay
