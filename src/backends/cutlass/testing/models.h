// SPDX-License-Identifier: Apache-2.0
// For tests: models as text, partitioned and compiled by a toolchain that only remembers.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/cutlass/cutlass.h"
#include "byoc/placer.h"
#include "module/text.h"
#include "ops/inference/infer_types.h"
#include "ops/records/table.h"

namespace tessera::backends::cutlass::testing {

inline Module parse(const std::string& text) {
  const auto source =
      std::make_shared<const SourceFile>(SourceFile{"test", "#[version = \"0.0.5\"]\n" + text});
  auto parsed = parse_module(source, ops::operators());
  EXPECT_TRUE(parsed) << render(parsed.error());
  auto inferred = ops::infer_types(*std::move(parsed));
  EXPECT_TRUE(inferred) << render(inferred.error());
  return *std::move(inferred);
}

// Remembers what it is asked to compile; its objects are not to be linked.
class RecordingToolchain final : public Toolchain {
 public:
  Result<std::vector<std::string>> compile(std::span<const CompileJob> jobs) override {
    std::vector<std::string> objects;
    for (const CompileJob& job : jobs) {
      ++attempts[job.name];
      if (!failing.empty() && job.source.text().find(failing) != std::string::npos) {
        return fail(error(Code::kToolFailed, nullptr, "ptxas gives up"));
      }
      sources[job.name] = job.source.text();
      objects.push_back(job.name);
    }
    return objects;
  }
  Result<std::string> archive(std::span<const std::string> objects) override {
    return std::to_string(objects.size());
  }
  std::string identity() const override { return "recording"; }

  std::map<std::string, std::string> sources;
  std::map<std::string, int> attempts;
  std::string failing;
};

// Answers with one configuration, or none if that is empty, and with failures, whatever it is asked
// about work whose text begins with `of`.
class OneMeasurement final : public byoc::Measurements {
 public:
  explicit OneMeasurement(std::string configuration, std::vector<byoc::Failure> failures = {},
                          std::string of = "")
      : failures_(std::move(failures)), of_(std::move(of)) {
    if (!configuration.empty()) configurations_.push_back(std::move(configuration));
  }
  Result<byoc::Ranking> ranking(std::string_view backend, std::string_view, std::string_view device,
                                const byoc::Workload& workload) const override {
    EXPECT_EQ(backend, "cutlass");
    EXPECT_EQ(device, "sm_90a 132 ");
    const std::string text = workload.text();
    workloads.insert(text.substr(0, text.find(" a=")));
    if (!text.starts_with(of_)) return byoc::Ranking();
    return byoc::Ranking{configurations_, workload.sizes, failures_};
  }
  mutable std::set<std::string> workloads;

 private:
  std::vector<std::string> configurations_;
  std::vector<byoc::Failure> failures_;
  std::string of_;
};

// What the patterns make of it, not yet compiled.
inline byoc::PartitionOutcome placed(Module module, const Target& target = Target("cutlass")) {
  const byoc::BackendChoice choices[] = {{&cutlass_backend(), target}};
  auto outcome = byoc::partition_greedy(std::move(module), choices);
  EXPECT_TRUE(outcome) << render(outcome.error());
  return *std::move(outcome);
}

inline byoc::PartitionOutcome compile(Module module, Toolchain& toolchain,
                                      const Target& target = Target("cutlass"),
                                      const byoc::Measurements* measurements = nullptr) {
  const byoc::BackendChoice choices[] = {{&cutlass_backend(), target}};
  byoc::CompileContext context{toolchain, 2, false, {}, measurements};
  auto compiled = byoc::compile_backends(placed(std::move(module), target), choices, context);
  EXPECT_TRUE(compiled) << render(compiled.error());
  return *std::move(compiled);
}

inline byoc::PartitionOutcome compile(const std::string& text, Toolchain& toolchain,
                                      const Target& target = Target("cutlass"),
                                      const byoc::Measurements* measurements = nullptr) {
  return compile(parse(text), toolchain, target, measurements);
}

inline std::vector<std::string> composites_of(const byoc::PartitionOutcome& outcome) {
  std::vector<std::string> names;
  for (const auto& region : outcome.regions) {
    names.insert(names.end(), region.composites.begin(), region.composites.end());
  }
  return names;
}

// All of them are parts of the text.
inline void expect_in(const std::string& text, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "\nin\n" << text;
  }
}

inline constexpr const char* kFeedForward = R"(
def @main(%x: Tensor[(1, 128, 1024), float16], %w: Tensor[(1024, 4096), float16],
          %b: Tensor[(4096), float16], %v: Tensor[(4096, 1024), float16],
          %c: Tensor[(1024), float16]) {
  %0 = nn.matmul(%x, %w, units=None);
  %1 = add(%b, %0);
  %2 = divide(%1, 1.4142f16);
  %3 = erf(%2);
  %4 = add(%3, 1f16);
  %5 = multiply(%1, %4);
  %6 = multiply(%5, 0.5f16);
  %7 = nn.matmul(%6, %v, units=None);
  %8 = add(%c, %7);
  add(%8, %x)
})";

// Attention of an exported encoder layer, with queries, keys and values in one packed tensor.
inline constexpr const char* kAttention = R"(
def @main(%x: Tensor[(2, 128, 3072), float16], %m: Tensor[(2, 1, 1, 128), float16]) {
  %0 = strided_slice(%x, begin=[0], end=[1024], strides=[1], axes=[2]);
  %1 = reshape(%0, newshape=[2, 128, 16, 64]);
  %2 = transpose(%1, axes=[0, 2, 1, 3]);
  %3 = strided_slice(%x, begin=[1024], end=[2048], strides=[1], axes=[2]);
  %4 = reshape(%3, newshape=[2, 128, 16, 64]);
  %5 = transpose(%4, axes=[0, 2, 3, 1]);
  %6 = nn.matmul(%2, %5, units=None);
  %7 = multiply(%6, 0.125f16);
  %8 = add(%7, %m);
  %9 = nn.softmax(%8, axis=3);
  %10 = strided_slice(%x, begin=[2048], end=[3072], strides=[1], axes=[2]);
  %11 = reshape(%10, newshape=[2, 128, 16, 64]);
  %12 = transpose(%11, axes=[0, 2, 1, 3]);
  %13 = nn.matmul(%9, %12, units=None);
  %14 = transpose(%13, axes=[0, 2, 1, 3]);
  reshape(%14, newshape=[2, 128, 1024])
})";

// The same model in float32.
inline std::string in_float32(std::string text) {
  for (const auto& [from, to] : {std::pair("float16", "float32"), std::pair("f16", "f")}) {
    for (std::size_t at; (at = text.find(from)) != std::string::npos;) {
      text.replace(at, std::string_view(from).size(), to);
    }
  }
  return text;
}

// 24 layers with weights of their own.
inline std::string layers(int count) {
  std::string params, body = "";
  std::string x = "%x";
  int node = 0;
  for (int i = 0; i < count; ++i) {
    for (const char* name : {"q:1024, 3072", "o:1024, 1024", "f:1024, 4096", "g:4096, 1024"}) {
      params += fmt::format(", %{}{}: Tensor[({}), float16]", name[0], i, name + 2);
    }
    for (const char* name : {"a:3072", "b:1024", "c:4096", "d:1024"}) {
      params += fmt::format(", %{}{}: Tensor[({}), float16]", name[0], i, name + 2);
    }
    const auto add = [&](const std::string& expression) {
      body += fmt::format("  %{} = {};\n", node, expression);
      return fmt::format("%{}", node++);
    };
    const auto product = [&](const std::string& a, const char* w, const char* b) {
      const std::string y = add(fmt::format("nn.matmul({}, %{}{}, units=None)", a, w, i));
      return add(fmt::format("add({}, %{}{})", y, b, i));
    };
    const std::string qkv = product(x, "q", "a");
    const std::string v = add(fmt::format(
        "strided_slice({}, begin=[0, 2048], end=[128, 3072], strides=[1, 1], axes=None)", qkv));
    const std::string y = add(fmt::format("add({}, {})", product(v, "o", "b"), x));
    const std::string f = add(fmt::format("nn.gelu({})", product(y, "f", "c")));
    x = add(fmt::format("add({}, {})", product(f, "g", "d"), y));
  }
  return fmt::format("def @main(%x: Tensor[(128, 1024), float16]{}) {{\n{}  {}\n}}", params, body,
                     x);
}

}  // namespace tessera::backends::cutlass::testing
