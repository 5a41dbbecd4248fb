// SPDX-License-Identifier: Apache-2.0
#include "plan/in_place.h"

#include <gtest/gtest.h>

#include "plan/plan.h"
#include "tir/parse.h"

namespace tessera::plan {
namespace {

tir::PrimFunc parsed(const std::string& text) {
  auto f = tir::parse_prim_func("@T.prim_func" + text);
  EXPECT_TRUE(f) << (f ? "" : render(f.error()));
  return f ? *std::move(f) : tir::PrimFunc();
}

// A kernel of (x, z) -> y, all of 8 by 16 numbers, with these statements.
tir::PrimFunc kernel(const std::string& body) {
  return parsed(
      "\ndef k(x: T.Buffer((8, 16), \"float32\"), z: T.Buffer((8, 16), \"float32\"), *,"
      " y: T.Buffer((8, 16), \"float32\")):\n" +
      body);
}

bool in_place(const std::string& body) {
  const tir::PrimFunc f = kernel(body);
  return computes_in_place(f, f.inputs[0], f.outputs[0]);
}

TEST(InPlace, ElementByElement) {
  EXPECT_TRUE(
      in_place("  for i in T.parallel(8):\n    for j in T.vectorized(16):\n"
               "      y[i, j] = x[i, j] + z[7 - i, j]\n"));
  EXPECT_TRUE(
      in_place("  for i in T.serial(128):\n"
               "    y[i // 16, i % 16] = T.max(x[i // 16, i % 16], 0.0) * x[i // 16, i % 16]\n"));
  EXPECT_TRUE(
      in_place("  for i in T.serial(8):\n    for o in T.serial(2):\n"
               "      for j in T.vectorized(8):\n"
               "        t: T.float32 = x[i, o * 8 + j]\n"
               "        y[i, o * 8 + j] = t * t\n"));
}

TEST(InPlace, OfThreadsOfADevice) {
  EXPECT_TRUE(in_place("  for i in T.grid(128):\n    y[i // 16, i % 16] = x[i // 16, i % 16]\n"));
  EXPECT_TRUE(
      in_place("  for i in T.warps(8):\n    for j in T.threads(16):\n"
               "      y[i, j] = x[i, j] + z[i, 0]\n"));
  // A thread of the team may store before another has read.
  EXPECT_FALSE(
      in_place("  for i in T.blocks(128):\n    y[i // 16, i % 16] = x[i // 16, i % 16]\n"));
  EXPECT_FALSE(
      in_place("  for i in T.warps(8):\n    for j in T.serial(16):\n"
               "      t: T.float32 = x[i, j]\n      y[i, j] = t * t\n"));
}

TEST(InPlace, OtherElementsAreReadOrWritten) {
  for (const char* body :
       {// another place of the operand
        "  for i in T.serial(8):\n    for j in T.serial(16):\n      y[i, j] = x[7 - i, j]\n",
        // elements that are stored twice
        "  for i in T.serial(8):\n    for j in T.serial(16):\n      y[i, j // 2] = x[i, j // 2]\n",
        "  for k in T.serial(2):\n    for i in T.serial(8):\n      for j in T.serial(16):\n"
        "        y[i, j] = x[i, j] + 1.0\n",
        "  for i in T.serial(8):\n    for o in T.serial(2):\n      for j in T.serial(12):\n"
        "        y[i, o * 4 + j] = x[i, o * 4 + j]\n",
        // read before all stores, for all of them
        "  for i in T.serial(8):\n    s = T.alloc_buffer((), \"float32\", scope=\"stack\")\n"
        "    s[()] = x[i, 0]\n    for j in T.serial(16):\n      y[i, j] = x[i, j] + s[()]\n",
        "  for i in T.serial(8):\n    t: T.float32 = x[i, 0]\n    for j in T.serial(16):\n"
        "      y[i, j] = x[i, j] + t\n",
        // two stores
        "  for i in T.serial(8):\n    for j in T.serial(16):\n      y[i, j] = x[i, j]\n"
        "      y[i, j] = x[i, j] + 1.0\n",
        // what is stored is read again
        "  for i in T.serial(8):\n    for j in T.serial(16):\n      y[i, j] = x[i, j] + y[i, "
        "0]\n"}) {
    EXPECT_FALSE(in_place(body)) << body;
  }
}

TEST(InPlace, OfAnotherShapeOrTypeIsNone) {
  const tir::PrimFunc f = parsed(
      "\ndef k(x: T.Buffer((8,), \"float32\"), w: T.Buffer((4,), \"int32\"), *,"
      " y: T.Buffer((4,), \"float32\")):\n"
      "  for i in T.serial(4):\n    y[i] = x[i] + T.float32(w[i])\n");
  EXPECT_FALSE(computes_in_place(f, f.inputs[0], f.outputs[0]));
  EXPECT_FALSE(computes_in_place(f, f.inputs[1], f.outputs[0]));
}

// main(x) -> y: a = f(x); then the statements, with buffers a, b, c of 512 bytes.
struct HostProgram {
  Module module;

  explicit HostProgram(const std::string& body) {
    module.prim_funcs["main"] = parsed(
        "(host=True)\ndef main(x: T.Buffer((8, 16), \"float32\"), *,"
        " y: T.Buffer((8, 16), \"float32\")):\n"
        "  a = T.alloc_buffer((8, 16), \"float32\")\n  b = T.alloc_buffer((8, 16), \"float32\")\n"
        "  c = T.alloc_buffer((8, 16), \"float32\")\n  T.call_kernel(\"f\", [x], [a], [])\n" +
        body);
    module.prim_funcs["add"] = kernel(
        "  for i in T.serial(8):\n    for j in T.serial(16):\n"
        "      y[i, j] = x[i, j] + z[i, j]\n");
    for (const char* symbol : {"f", "add"}) module.externs[symbol].artifact = -1;
    module.externs["f"].artifact = 0;
    module = mark_in_place(std::move(module));
  }
  MemoryPlan plan() const {
    auto made = make_plan(module.prim_funcs.at("main"), module);
    EXPECT_TRUE(made);
    return made ? *made : MemoryPlan();
  }
};

TEST(InPlace, ADyingOperandGivesItsMemory) {
  const HostProgram p(
      "  T.call_kernel(\"add\", [a, x], [b], [])\n  T.call_kernel(\"add\", [x, b], [c], [])\n"
      "  T.call_kernel(\"f\", [c], [y], [])\n");
  const MemoryPlan plan = p.plan();
  EXPECT_EQ(plan.pools[0].bytes, 512);
  EXPECT_EQ(plan.pressure_bytes, 512);
  ASSERT_EQ(plan.needs.size(), 1u);
  EXPECT_EQ(plan.needs[0].name, "a, then b, then c");
  EXPECT_EQ(in_place_of(p.module.prim_funcs.at("add")).size(), 2u);
}

TEST(InPlace, AnOperandThatIsReadAgainKeepsIt) {
  const HostProgram p(
      "  T.call_kernel(\"add\", [a, x], [b], [])\n  T.call_kernel(\"add\", [a, b], [c], [])\n"
      "  T.call_kernel(\"f\", [c], [y], [])\n");
  EXPECT_EQ(p.plan().pools[0].bytes, 1024);  // c is in the memory of a, or of b
}

TEST(InPlace, AnOperandThatIsGivenTwiceKeepsIt) {
  const HostProgram p(
      "  T.call_kernel(\"add\", [a, a], [b], [])\n  T.call_kernel(\"f\", [b], [y], [])\n");
  EXPECT_EQ(p.plan().pools[0].bytes, 1024);
}

TEST(InPlace, AResultThatWasWrittenBeforeKeepsItsOwn) {
  const HostProgram p(
      "  T.call_kernel(\"f\", [x], [b], [])\n  T.call_kernel(\"add\", [a, x], [b], [])\n"
      "  T.call_kernel(\"f\", [b], [y], [])\n");
  EXPECT_EQ(p.plan().pools[0].bytes, 1024);
}

}  // namespace
}  // namespace tessera::plan
