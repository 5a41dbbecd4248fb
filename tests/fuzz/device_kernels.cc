// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/device_kernels.h"

#include <fmt/format.h>

#include "driver/build.h"
#include "driver/pipeline.h"
#include "emit/cuda_kernel.h"
#include "ops/inference/infer_types.h"
#include "ops/records/table.h"
#include "ops/samples/samples.h"
#include "plan/device.h"
#include "relay/rewrite.h"
#include "tests/fuzz/random.h"

namespace tessera::fuzz {
namespace {

using relay::NodeId;

// Small, odd, whole tiles and vectors, and a bit more.
int extent(Random& random) {
  constexpr int kExtents[] = {1, 7, 16, 17, 32, 48, 63, 64, 65, 96, 130, 256, 300, 1000};
  return random.among(kExtents);
}

std::string product(Random& random, std::string_view type) {
  const int m = extent(random), n = extent(random), k = extent(random), b = 1 + random.below(4);
  switch (random.below(3)) {
    case 0:
      return fmt::format("nn.dense({0}[{1},{3}], {0}[{2},{3}], units={2})", type, m, n, k);
    case 1:
      return fmt::format("nn.matmul({0}[{1},{3}], {0}[{3},{2}], units={2})", type, m, n, k);
    default:
      return fmt::format("nn.batch_matmul({0}[{4},{1},{3}], {0}[{4},{2},{3}], transpose_b=True)",
                         type, m, n, k, b);
  }
}

std::string convolution(Random& random, std::string_view type) {
  const int filters = extent(random), window = 1 + random.below(3), stride = 1 + random.below(2);
  const int channels = 1 + random.below(70), side = window + extent(random) % 40;
  const int pad = random.below(window);
  if (random.below(2) == 0) {
    return fmt::format(
        "nn.conv1d({0}[2,{1},{2}], {0}[{3},{1},{4}], strides=[{5}], padding=[{6},{6}])", type,
        channels, extent(random) + window, filters, window, stride, pad);
  }
  return fmt::format(
      "nn.conv2d({0}[2,{1},{2},{2}], {0}[{3},{1},{4},{4}], strides=[{5},{5}], "
      "padding=[{6},{6},{6},{6}])",
      type, channels, side, filters, window, stride, pad);
}

std::string others(Random& random, std::string_view type) {
  const int a = extent(random), b = extent(random), c = 1 + random.below(5);
  const int axis = random.below(3);
  const std::string x = fmt::format("{}[{},{},{}]", type, c, a, b);
  constexpr const char* kReductions[] = {"sum", "mean", "max", "prod", "argmax"};
  switch (random.below(6)) {
    case 0:
      return fmt::format("nn.softmax({}, axis={})", x, axis);
    case 1:
      return fmt::format("nn.layer_norm({0}, {1}[{2}], {1}[{2}])", x, type, b);
    case 2:
      return fmt::format("transpose({}, axes=[{}])", x, random.below(2) == 0 ? "0,2,1" : "2,0,1");
    case 3:
      return fmt::format("cumsum({}, axis={})", x, axis);
    case 4:
      return fmt::format("sort({})", x);
    default:
      return fmt::format("{}({}, axis=[{}], keepdims=True)", random.among(kReductions), x, axis);
  }
}

std::string large_call(Random& random) {
  const std::string_view type = random.below(3) == 0 ? "float16" : "float32";
  switch (random.below(3)) {
    case 0:
      return product(random, type);
    case 1:
      return convolution(random, type);
    default:
      return others(random, type);
  }
}

}  // namespace

relay::Function large_graph(std::uint64_t seed) {
  Random random(derived_seed(seed, "large", 0));
  const ops::Sample sample = ops::parse_sample(large_call(random));
  relay::FunctionBuilder b;
  std::vector<NodeId> params;
  for (const ops::SampleInput& input : sample.inputs) {
    params.push_back(b.param(fmt::format("p{}", params.size()), input.type));
  }
  NodeId value = relay::inline_call(b, sample.function, params);
  const Type type = sample.function.type(sample.function.result());
  for (int more = type.dtype().is_float() ? random.below(4) : 0; more > 0; --more) {
    constexpr const char* kNames[] = {"nn.relu", "tanh", "nn.softmax", "add"};
    const std::string_view name = random.among(kNames);
    std::vector<NodeId> operands = {value};
    if (name == "add") operands.push_back(b.param(fmt::format("r{}", more), type));
    value = b.call(ops::op(name), operands);
  }
  Module module;
  module.functions.emplace("main", b.finish(value));
  auto typed = ops::infer_types(std::move(module));
  TESSERA_CHECK(typed.has_value(), "{}: {}", sample.text, render(typed.error()));
  return typed->functions.at("main");
}

bool calls_runtime(const relay::Function& f) {
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    const relay::Operator* op = f.op(NodeId(i));
    if (op != nullptr && !op->runtime_symbol.empty()) return true;
  }
  return false;
}

Result<Module> prepared(const relay::Function& f, const Target& target) {
  driver::CompileOptions options;
  options.targets = {target};
  Module module;
  module.targets = options.targets;
  module.functions.emplace("main", f);
  std::vector<Diagnostic> warnings;
  return driver::prepare_native(std::move(module), options, warnings);
}

Result<Module> device_kernels(const relay::Function& f) {
  if (calls_runtime(f)) return Module();
  const Target cuda("cuda");
  TESSERA_TRY(Module module, prepared(f, cuda));
  TESSERA_TRY(module, driver::lower_functions(std::move(module), cuda, ""));
  for (const auto& [symbol, kernel] : module.prim_funcs) {
    if (kernel.is_host || plan::computes_on_cpu(module, symbol)) continue;
    TESSERA_CHECK(!emit::emit_cuda_kernel(kernel, symbol).empty(), "`{}` has no text", symbol);
  }
  return module;
}

}  // namespace tessera::fuzz
