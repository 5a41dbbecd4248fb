// SPDX-License-Identifier: Apache-2.0
#include "driver/size_params.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "ops/evaluation/size_values.h"
#include "relay/rewrite.h"

namespace tessera::driver {
namespace {

std::set<std::string> symbols_in(const relay::Function& f) {
  std::set<std::string> symbols;
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    for (const Dim& size : ops::sizes_of(f, relay::NodeId(i))) {
      for (std::string& name : size.symbols()) symbols.insert(std::move(name));
    }
  }
  return symbols;
}

}  // namespace

relay::Function with_size_params(const relay::Function& program) {
  std::set<std::string> missing = symbols_in(program);
  for (const relay::NodeId param : program.params()) {
    for (const Dim& size : program.type(param).shape()) {
      if (size.is_symbolic()) missing.erase(size.expression_text());
    }
  }
  if (missing.empty()) return program;
  relay::FunctionBuilder b;
  std::vector<relay::NodeId> params;
  for (const relay::NodeId id : program.params()) {
    const auto& param = *program.as<relay::Param>(id);
    b.set_type(params.emplace_back(b.param(param.name, param.annotation)), program.type(id));
  }
  const relay::NodeId result = relay::inline_call(b, program, params);
  for (const std::string& symbol : missing) {
    const Type type = tensor_type({Dim::symbol(symbol)}, kUInt8);
    b.set_type(b.param("size_of_" + symbol, type), type);
  }
  return b.finish(result, program.attrs, program.result_annotation);
}

bool has_nameless_sizes(const relay::Function& program) {
  return std::ranges::any_of(program.params(), [&](relay::NodeId param) {
    const Shape& shape = program.type(param).shape();
    return std::ranges::any_of(shape, [](const Dim& size) { return size.is_unknown(); });
  });
}

}  // namespace tessera::driver
