// SPDX-License-Identifier: Apache-2.0
// Every access of every sample of every operator, as each schedule leaves it, is proven to lie
// inside of its buffer: with the sizes of the sample, and with all of them open. What is not is on
// a list, and only that.
#include <map>
#include <optional>
#include <set>

#include <gtest/gtest.h>

#include "lower/main.h"
#include "lower/program_bounds.h"
#include "lower/specialise.h"
#include "ops/records/table.h"
#include "ops/samples/samples.h"
#include "passes/testing/text.h"
#include "schedule/schedule.h"
#include "tir/print.h"
#include "tir/walk.h"

namespace tessera::schedule {
namespace {

using Reasons = std::map<std::string_view, std::string_view>;

// Operators of which not all accesses are proven, and why.
constexpr std::string_view kOfAWarp =
    "places in the order of a warp's threads are sums of quotients and remainders of two indices";
const Reasons kStatic = {};
const Reasons kOpen = {
    {"dyn.strided_slice", "the count of steps is a quotient of extremes of the sizes"},
    {"nn.conv2d_backward_weight", "channels of a group are quotients of open sizes"},
    {"qnn.dense_fragments", kOfAWarp},
    {"qnn.unpack_fragments", kOfAWarp},
    {"strided_slice", "the end is an extreme of the size less another one"},
    {"take", "of a flattened tensor: a quotient by an open size"},
    {"where", "the size of three that are broadcast is a choice of choices"},
};

enum class Sizes : std::uint8_t { kOfSample, kOpen };

std::vector<Type> types_of(const ops::Sample& sample, Sizes sizes) {
  std::vector<Type> types;
  int number = 0;
  for (const ops::SampleInput& input : sample.inputs) {
    Shape shape = input.type.shape();
    for (Dim& dim : shape) {
      if (sizes == Sizes::kOpen) dim = Dim::symbol(fmt::format("s{}", number++));
    }
    types.push_back(tensor_type(std::move(shape), input.type.dtype()));
  }
  return types;
}

// Nothing where the sample does not compile with such sizes.
std::optional<Module> lowered(std::string_view text, Sizes sizes) {
  const ops::Sample sample = ops::parse_sample(text);
  Module module;
  auto f = lower::specialise(sample.function, relay::Function::kBody, types_of(sample, sizes),
                             module.constants);
  if (!f) return std::nullopt;
  module.functions.emplace("main", std::move(*f));
  auto out = lower::lower(std::move(module));
  return out ? std::optional(std::move(*out)) : std::nullopt;
}

const Target& target_of(std::string_view text) {
  static const std::map<std::string_view, Target> targets = {{"cpu", *parse_target("cpu")},
                                                             {"cuda", *parse_target("cuda")}};
  return targets.at(text);
}

void prove_all(Sizes sizes, const Reasons& reasons) {
  int programs = 0;
  std::set<std::string_view> unproven;
  for (const relay::Operator* op : ops::operators().all()) {
    if (op->compute == nullptr) continue;
    for (const std::string_view text : op->samples) {
      const std::optional<Module> plain = lowered(text, sizes);
      if (!plain) continue;
      for (const std::string_view target : {"cpu", "cuda"}) {
        // Open sizes of flattened launches take the longest.
        if (sizes == Sizes::kOpen && target == "cuda" && text != *op->samples.begin()) continue;
        ++programs;
        const auto found = lower::unproven_accesses(schedule(*plain, target_of(target)));
        if (found.empty()) continue;
        unproven.insert(op->name);
        EXPECT_TRUE(reasons.contains(op->name)) << text << " for " << target << ": " << found[0];
      }
    }
  }
  for (const auto& [name, why] : reasons) {
    EXPECT_TRUE(unproven.contains(name)) << "`" << name << "` is proven: strike it off the list";
  }
  EXPECT_GT(programs, 900);
}

TEST(Bounds, EveryAccessOfEveryOperatorIsInside) { prove_all(Sizes::kOfSample, kStatic); }

TEST(Bounds, EveryAccessOfEveryOperatorIsInsideForAllSizes) { prove_all(Sizes::kOpen, kOpen); }

// What is proven rests on the checks: without them much is not.
TEST(Bounds, WithoutItsChecksAProgramIsNotProven) {
  int with_checks = 0, unproven = 0;
  for (const relay::Operator* op : ops::operators().all()) {
    if (op->compute == nullptr || kOpen.contains(op->name)) continue;
    std::optional<Module> module = lowered(*op->samples.begin(), Sizes::kOpen);
    if (!module) continue;
    bool has_checks = false;
    for (auto& [symbol, f] : module->prim_funcs) {
      if (f.is_host || !f.inputs.empty() || !f.outputs.empty()) continue;
      f.body = tir::seq({});
      has_checks = true;
    }
    if (!has_checks) continue;
    ++with_checks;
    unproven += lower::unproven_accesses(*module).empty() ? 0 : 1;
  }
  EXPECT_GT(with_checks, 20);
  EXPECT_GT(unproven, with_checks / 2);
}

// An element that only some results need is read ahead of them where it is there in any case: here
// the table's is, whatever the index, and the index's is not.
TEST(Bounds, WhatIsReadAheadIsThereWithItsIndices) {
  const Module module = passes::testing::module_of(
      "def @main(%p: Tensor[(1), float32], %t: Tensor[(2), float32], %i: Tensor[(31), int64]) {\n"
      "  %0 = fn (%a: Tensor[(1), float32], %b: Tensor[(2), float32], %c: Tensor[(31), int64],\n"
      "           Primitive=1) {\n"
      "    %1 = (%a, take(%b, %c, axis=0, mode=\"wrap\"));\n    concatenate(%1, axis=0)\n  };\n"
      "  %0(%p, %t, %i)\n}\n");
  const auto out = lower::lower(module);
  ASSERT_TRUE(out.has_value()) << render(out.error());
  EXPECT_EQ(lower::unproven_accesses(schedule(*out, target_of("cpu"))), std::vector<std::string>{});
}

// Threads that make several results of a window count open images, and rows.
TEST(Bounds, WindowsOfOpenImagesAreInside) {
  for (const char* shape : {"?n, 9, 13, 576", "?n, ?h, 13, 576"}) {
    const Module module = passes::testing::module_of(fmt::format(
        "def @main(%x: Tensor[({}), float16], %w: Tensor[(3, 3, 16, 576), float16],\n"
        "          %b: Tensor[(576), float16]) {{\n"
        "  %0 = fn (%p: Tensor[({}), float16], %q: Tensor[(3, 3, 16, 576), float16],\n"
        "           %r: Tensor[(576), float16], Primitive=1) {{\n"
        "    %1 = nn.conv2d(%p, %q, padding=[1, 1, 1, 1], groups=36, data_layout=\"NHWC\",\n"
        "                   kernel_layout=\"HWIO\");\n    nn.relu(add(%1, %r))\n  }};\n"
        "  %0(%x, %w, %b)\n}}\n",
        shape, shape));
    auto out = lower::lower(module);
    ASSERT_TRUE(out.has_value()) << render(out.error());
    const Module scheduled = schedule(std::move(*out), target_of("cuda"));
    bool found = false;
    for (const auto& [symbol, f] : scheduled.prim_funcs) {
      found |= tir::print(f, symbol).find("_sums = ") != std::string::npos;
    }
    EXPECT_TRUE(found) << shape;
    EXPECT_EQ(lower::unproven_accesses(scheduled), std::vector<std::string>{}) << shape;
  }
}

// Of lines of open images that fill no tile, rows that are not there repeat the last one.
TEST(Bounds, TilesOfOpenImagesAreInside) {
  for (const char* convolution :
       {"1, 16, ?h, ?w|24, 16, 3, 3|nn.conv2d(%p, %q, padding=[1, 1, 1, 1])",
        "?n, 16, ?h, 13|24, 16, 3, 2|nn.conv2d(%p, %q, strides=[2, 2], padding=[1, 0, 0, 1])",
        "?n, ?h, ?w, 16|3, 3, 16, 24|nn.conv2d(%p, %q, data_layout=\"NHWC\", "
        "kernel_layout=\"HWIO\", dilation=[2, 2], padding=[2, 2])",
        "2, 64, ?h, ?w|64, 64, 1, 1|nn.conv2d(%p, %q)",
        "1, 64, ?w|160, 64, 5|nn.conv1d(%p, %q, padding=[2, 2])",
        "1, 8, ?d, ?h, ?w|16, 8, 2, 3, 3|nn.conv3d(%p, %q, padding=[0, 1, 1])"}) {
    const std::string text = convolution;
    const auto first = text.find('|'), second = text.find('|', first + 1);
    const std::string x = text.substr(0, first), w = text.substr(first + 1, second - first - 1);
    const Module module = passes::testing::module_of(
        fmt::format("def @main(%x: Tensor[({0}), float32], %w: Tensor[({1}), float32]) {{\n"
                    "  %0 = fn (%p: Tensor[({0}), float32], %q: Tensor[({1}), float32],\n"
                    "           Primitive=1) {{\n    nn.relu({2})\n  }};\n  %0(%x, %w)\n}}\n",
                    x, w, text.substr(second + 1)));
    auto out = lower::lower(module);
    ASSERT_TRUE(out.has_value()) << render(out.error());
    const Module scheduled = schedule(std::move(*out), target_of("cpu"));
    bool found = false;
    for (const auto& [symbol, f] : scheduled.prim_funcs) {
      const auto done = f.attrs.find("schedule");
      found |= done != f.attrs.end() && done->second.find("tile") != std::string::npos;
    }
    EXPECT_TRUE(found) << text;
    EXPECT_EQ(lower::unproven_accesses(scheduled), std::vector<std::string>{}) << text;
  }
}

// A check of the caller's sizes alone stands before all that writes.
TEST(Bounds, SizesOfInputsAreCheckedBeforeAnythingIsWritten) {
  const Module module = passes::testing::module_of(
      "def @main(%x: Tensor[(?n, 64), float32], %w: Tensor[(32, ?k), float32],\n"
      "          %s: Tensor[(?m), float32]) {\n"
      "  %0 = exp(%x);\n  %1 = nn.dense(%0, %w, units=None);\n  %2 = nn.bias_add(%1, %s);\n"
      "  reshape(%2, newshape=[1, 8, 16])\n}\n");
  const auto out = lower::lower(module);
  ASSERT_TRUE(out.has_value()) << render(out.error());
  EXPECT_EQ(lower::unproven_accesses(*out), std::vector<std::string>{});
  int checks = 0;
  bool written = false;
  tir::for_each_node(out->prim_funcs.at("main").body, [&](const tir::Stmt& s) {
    const auto* call = s.as<tir::CallKernel>();
    if (call == nullptr) return;
    written |= !call->outputs.empty();
    if (!call->outputs.empty()) return;
    ++checks;
    EXPECT_FALSE(written) << call->symbol;
  });
  EXPECT_GE(checks, 3);
}

}  // namespace
}  // namespace tessera::schedule
