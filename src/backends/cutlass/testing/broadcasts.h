// SPDX-License-Identifier: Apache-2.0
// For tests: products in which the matrices of a batch share a factor, or what follows them.
#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>

namespace tessera::backends::cutlass::testing {

using Lines = std::vector<std::string>;

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// A function with these results.
inline std::string model(const Lines& results, const std::string& dtype = "float32") {
  std::string body, tuple;
  for (std::size_t i = 0; i < results.size(); ++i) {
    body += fmt::format("  %{} = {};\n", i, results[i]);
    tuple += fmt::format("%{}, ", i);
  }
  return replaced(R"(
def @main(%a: Tensor[(3, 40, 16), T], %u: Tensor[(3, 24, 16), T], %w: Tensor[(24, 16), T],
          %a1: Tensor[(1, 40, 16), T], %u1: Tensor[(1, 24, 16), T], %t: Tensor[(3, 16, 40), T],
          %t1: Tensor[(1, 16, 40), T], %v: Tensor[(3, 16, 24), T], %v1: Tensor[(1, 16, 24), T],
          %h: Tensor[(2, 3, 40, 16), T], %hv: Tensor[(2, 3, 16, 24), T],
          %h1: Tensor[(1, 1, 40, 16), T], %hb: Tensor[(2, 1, 16, 24), T],
          %hr: Tensor[(1, 3, 16, 24), T], %few: Tensor[(3, 2, 16), T],
          %i: Tensor[(2, 6, 7, 16), T], %k: Tensor[(24, 1, 1, 16), T],
          %k3: Tensor[(24, 3, 3, 16), T], %gate: Tensor[(2, 1, 1, 24), T],
          %s: Tensor[(1, 1, 1), T], %n: Tensor[(24), T], %m: Tensor[(40, 1), T],
          %mn: Tensor[(40, 24), T], %b: Tensor[(3, 1, 1), T], %bn: Tensor[(3, 1, 24), T],
          %bm: Tensor[(3, 40, 1), T], %bmn: Tensor[(3, 40, 24), T], %v40: Tensor[(40), T],
          %v3: Tensor[(3), T], %hn: Tensor[(2, 1, 1, 24), T], %hmn: Tensor[(2, 3, 1, 24), T]) {
)" + body + "  (" + tuple +
                      ")\n}",
                  ", T]", ", " + dtype + "]");
}

inline constexpr const char* kBatch = "nn.batch_matmul(%a, %u, transpose_b=True)";
inline constexpr const char* kShared = "nn.dense(%a, %w, units=None)";  // B is the same for all
inline constexpr const char* kPointwise =
    "nn.conv2d(%i, %k, padding=[0, 0, 0, 0], data_layout=\"NHWC\", kernel_layout=\"OHWI\")";
inline constexpr const char* kWindow =
    "nn.conv2d(%i, %k3, padding=[1, 1, 1, 1], data_layout=\"NHWC\", kernel_layout=\"OHWI\")";

inline std::string add(const std::string& product, const std::string& operand) {
  return fmt::format("add({}, {})", product, operand);
}

// Products with factors that matrices share, and with operands of the epilogue that they share.
inline Lines products() {
  Lines all = {
      "nn.batch_matmul(%a1, %u, transpose_b=True)",
      "nn.batch_matmul(%a, %u1, transpose_b=True)",
      "nn.batch_matmul(%a1, %v, transpose_b=False)",
      "nn.batch_matmul(%t, %v1, transpose_a=True)",
      "nn.batch_matmul(%t1, %v, transpose_a=True)",
      "nn.matmul(%t, %w, units=None, transpose_a=True, transpose_b=True)",
      "nn.matmul(%h, %hb, units=None)",
      "nn.matmul(%h1, %hv, units=None)",
      "nn.matmul(%a1, %hv, units=None)",
      "nn.matmul(%w, %hv, units=None)",
      "nn.matmul(%h, %v1, units=None)",
      "nn.matmul(%h, %hv, units=None)",
      add("nn.matmul(%h, %hb, units=None)", "%hn"),
      add("nn.matmul(%h, %v1, units=None)", "%hn"),
      add("nn.matmul(%h, %v1, units=None)", "%hmn"),
      fmt::format("nn.bias_add({}, %v40, axis=1)", kBatch),
      fmt::format("nn.bias_add({}, %v40, axis=-2)", kShared),
      fmt::format("nn.bias_add({}, %v3, axis=0)", kShared),
      fmt::format("multiply(%gate, {})", kPointwise),
      add(add(kShared, "%mn"), "%bn"),
  };
  // Every way in which the three dimensions may be there or be one.
  for (const char* operand : {"%s", "%n", "%m", "%mn", "%b", "%bn", "%bm", "%bmn"}) {
    for (const char* product : {kBatch, kShared}) all.push_back(add(product, operand));
  }
  return all;
}

}  // namespace tessera::backends::cutlass::testing
