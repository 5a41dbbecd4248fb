// SPDX-License-Identifier: Apache-2.0
// Programs for a device: what sizes are made of is computed by the host, in the host's memory, and
// nothing of it crosses over that the other side does not need.
#include "lower/host_values.h"

#include <algorithm>

#include "lower/main.h"
#include "lower/testing/host_run.h"
#include "lower/testing/tensors.h"
#include "lower/testing/text.h"
#include "ops/evaluation/evaluate_function.h"
#include "support/testing/golden.h"
#include "tir/parse.h"
#include "tir/print.h"
#include "tir/verify.h"

namespace tessera::lower {
namespace {

using Names = std::vector<std::string>;

using testing::numbers;

class HostValuesTest : public ::testing::Test {
 protected:
  void lower_text(const std::string& text, const char* target = "cuda") {
    module_ = testing::module_of(text);
    auto machine = parse_target(target);
    ASSERT_TRUE(machine) << render(machine.error());
    module_.targets = {*machine};
    auto lowered = lower(module_);
    ASSERT_TRUE(lowered) << render(lowered.error());
    program_ = hoist_allocations(std::move(*lowered));
    for (const auto& [name, f] : program_.prim_funcs) {
      const auto valid = tir::verify(f, name);
      ASSERT_TRUE(valid) << render(valid.error()) << tir::print(f, name);
    }
    const auto again = tir::parse_prim_func(host_text());
    ASSERT_TRUE(again) << render(again.error()) << host_text();
    EXPECT_EQ(tir::print(*again, "main"), host_text());
  }

  const tir::PrimFunc& main() const { return program_.prim_funcs.at("main"); }
  std::string host_text() const { return tir::print(main(), "main"); }

  // The operators of the kernels that the CPU computes, or of the others, in the program's order.
  Names operators(bool of_cpu) const {
    Names found;
    tir::for_each_node(main().body, [&](const tir::Stmt& s) {
      const auto* call = s.as<tir::CallKernel>();
      if (call == nullptr) return;
      const tir::PrimFunc& kernel = program_.prim_funcs.at(call->symbol);
      if (is_for_cpu(kernel) == of_cpu) found.push_back(kernel.attrs.at("ops"));
    });
    return found;
  }
  // Those of the inputs that are the host's.
  Names host_inputs() const {
    Names found;
    for (const tir::Buffer& b : main().inputs) {
      if (tir::is_on_host(b)) found.push_back(b->name);
    }
    return found;
  }

  void expect_right(const std::vector<Tensor>& inputs) {
    const auto wanted = ops::evaluate(module_, module_.functions.at("main"), inputs);
    testing::expect_close(wanted, testing::HostRun(program_, inputs).outputs(), host_text());
  }
  static Tensor random(std::vector<std::int64_t> shape) {
    const std::size_t size = static_cast<std::size_t>(num_elements_of(shape));
    std::vector<double> values;
    for (std::size_t i = 0; i < size; ++i) values.push_back(static_cast<double>(i % 7) - 3);
    return tensor_from_doubles(std::move(shape), kFloat32, values);
  }
  static std::int64_t num_elements_of(const std::vector<std::int64_t>& shape) {
    std::int64_t n = 1;
    for (const std::int64_t size : shape) n *= size;
    return n;
  }

  Module module_, program_;
};

constexpr const char* kChain =
    "def @main(%x: Tensor[(6), float32], %s: Tensor[(2), int64], %k: int64) {\n"
    "  %0 = take(shape_of(%x, dtype=\"int64\"), 0i64);\n"
    "  %1 = floor_divide(%0, %k);\n"
    "  %2 = concatenate((reshape(%1, newshape=[1]), reshape(%k, newshape=[1])));\n"
    "  (nn.relu(dyn.reshape(%x, subtract(%s, 1i64))), nn.relu(dyn.reshape(%x, %2)))\n}\n";

TEST_F(HostValuesTest, ChainsOfInputsSizesAndConstants) {
  lower_text(kChain);
  tessera::testing::expect_golden(TESSERA_SOURCE_DIR "/src/lower/testdata/host_values.tir",
                                  host_text());
  EXPECT_EQ(host_inputs(), (Names{"s", "k"}));
  EXPECT_EQ(operators(false), (Names{"nn.relu", "nn.relu", "copy", "copy"}));
  expect_right({random({6}), numbers({2}, {3, 0}), numbers({}, {2})});
}

TEST_F(HostValuesTest, OnACpuNothingChanges) {
  lower_text(kChain, "cpu");
  EXPECT_EQ(host_inputs(), Names{});
  EXPECT_EQ(operators(true), (Names{"sizes_of dyn.reshape", "sizes_of dyn.reshape"}));
}

TEST_F(HostValuesTest, WhatBothSidesNeedIsSent) {
  lower_text(
      "def @main(%x: Tensor[(5, 6), float32], %b: Tensor[(2), int64], %e: Tensor[(2), int64]) {\n"
      "  %0 = add(%b, 1i64);\n"
      "  (dyn.strided_slice(%x, %0, %e, ones(shape=[2], dtype=\"int64\")), %0, add(%e, "
      "2i64))\n}\n");
  tessera::testing::expect_golden(TESSERA_SOURCE_DIR "/src/lower/testdata/host_values_shared.tir",
                                  host_text());
  EXPECT_EQ(host_inputs(), (Names{"b", "e"}));
  expect_right({random({5, 6}), numbers({2}, {0, 1}), numbers({2}, {4, 6})});
}

TEST_F(HostValuesTest, AKernelOfBothSidesIsTwo) {
  lower_text(
      "def @main(%x: Tensor[(4), float32], %s: Tensor[(2), int64], %t: Tensor[(2), int64]) {\n"
      "  (dyn.reshape(%x, multiply(%s, 2i64)), multiply(%t, 2i64))\n}\n");
  EXPECT_EQ(operators(true), (Names{"multiply", "sizes_of dyn.reshape"}));
  EXPECT_EQ(operators(false), (Names{"multiply", "copy"}));
  EXPECT_EQ(host_inputs(), (Names{"s"}));
  expect_right({random({4}), numbers({2}, {1, 1}), numbers({2}, {7, 8})});
}

TEST_F(HostValuesTest, WhatFollowsFromDataStaysOnTheDevice) {
  lower_text(
      "def @main(%x: Tensor[(20, 5), float32], %y: float32) {\n"
      "  %0 = sum(cast(greater(%x, 0f), dtype=\"int64\"), axis=[0]);\n"
      "  %1 = max(%0, axis=[0], keepdims=True);\n"
      "  (dyn.full(1f, %1), arange(0f, exp(%y), 1f), tanh(exp(%y)))\n}\n");
  EXPECT_EQ(operators(true), (Names{"sizes_of dyn.full", "sizes_of arange"}));
  EXPECT_EQ(host_inputs(), Names{});
  expect_right({random({20, 5}), tensor_from_doubles({}, kFloat32, std::vector{1.0})});
}

TEST_F(HostValuesTest, LongListsStayOnTheDevice) {
  lower_text(
      "def @main(%s: Tensor[(65), int64]) {\n"
      "  dyn.full(1f, max(%s, axis=[0], keepdims=True))\n}\n");
  EXPECT_EQ(operators(true), (Names{"sizes_of dyn.full"}));
  lower_text(
      "def @main(%s: Tensor[(64), int64]) {\n"
      "  dyn.full(1f, max(%s, axis=[0], keepdims=True))\n}\n");
  EXPECT_EQ(operators(true), (Names{"max", "sizes_of dyn.full"}));
}

TEST_F(HostValuesTest, ALoopIsCountedByTheHost) {
  lower_text(std::string(testing::kGrowingLoop) +
             "def @main(%x: Tensor[(1, 2), float32], %n: int64) { @grow(0i64, %n, %x, %x) }\n");
  const Names device = operators(false);
  EXPECT_EQ(std::count(device.begin(), device.end(), "less"), 0);
  EXPECT_EQ(std::count(device.begin(), device.end(), "add"), 0);
  EXPECT_EQ(host_inputs(), (Names{"n"}));
  EXPECT_NE(
      host_text().find("goes_on = T.alloc_buffer((), \"bool\", scope=\"stack\", space=\"host\")"),
      std::string::npos)
      << host_text();
  for (const std::int64_t n : {0, 1, 4}) expect_right({random({1, 2}), numbers({}, {n})});
}

TEST_F(HostValuesTest, TemporariesOfTheHostAreInItsFrame) {
  lower_text(
      "def @main(%x: Tensor[(3), float32], %i: Tensor[(2), int64], %k: int64) {\n"
      "  %0 = fn (%p: Tensor[(2), int64], %q: int64, Primitive=1) {\n"
      "    %1 = reshape(floor_divide(take(%p, 0i64), %q), newshape=[1]);\n"
      "    concatenate((%1, reshape(%q, newshape=[1]), %1))\n  }(%i, %k);\n"
      "  dyn.reshape(%x, %0)\n}\n");
  const auto* call = program_.prim_funcs.begin()->second.body.as<tir::Allocate>();
  ASSERT_NE(call, nullptr) << host_text();
  EXPECT_EQ(call->buffer->scope, tir::MemoryScope::kStack);
  expect_right({random({3}), numbers({2}, {4, 9}), numbers({}, {3})});
}

}  // namespace
}  // namespace tessera::lower
