// SPDX-License-Identifier: Apache-2.0
#include "driver/static_shapes.h"

#include <set>

#include <fmt/format.h>

#include "relay/operator.h"

namespace tessera::driver {
namespace {

using relay::Function;
using relay::NodeId;

// The symbols of an input's sizes, as the options that give them numbers.
std::string dim_options(const Type& type) {
  std::set<std::string> symbols;
  for (const Type& tensor : flatten(type)) {
    for (const Dim& dim : tensor.shape()) {
      for (std::string& symbol : dim.symbols()) symbols.insert(std::move(symbol));
    }
  }
  std::string text;
  for (const std::string& symbol : symbols) {
    text += fmt::format("{}--dim {}=...", text.empty() ? "" : " ", symbol);
  }
  return text;
}

Diagnostic dynamic_input(const Function& main, NodeId param) {
  const Type& type = main.type(param);
  const std::string options = dim_options(type);
  return error(Code::kNotSupported, main[param].location,
               "input `{}` has the type {}; code for sizes that are only known at run time cannot "
               "be made yet",
               main.as<relay::Param>(param)->name, to_string(type))
      .with_remedy(options.empty()
                       ? "give the dimension a name in the model and its size with --dim"
                       : "give the sizes as numbers: " + options);
}

Diagnostic dynamic_result(const Function& main, NodeId call) {
  return error(Code::kNotSupported, main[call].location,
               "the result of `{}` has the type {}: its size depends on data; code for sizes that "
               "are only known at run time cannot be made yet",
               main.op(call)->name, to_string(main.type(call)))
      .with_remedy("replace the operator by one whose result has a fixed size");
}

}  // namespace

Result<void> require_static_shapes(const Module& module) {
  const Function& main = module.functions.at("main");
  Diagnostics errors;
  for (const NodeId param : main.params()) {
    if (is_dynamic(main.type(param))) errors.add(dynamic_input(main, param));
  }
  if (!errors.empty()) return fail(std::move(errors));
  // Only the first of a chain: what follows from it says nothing new.
  for (std::size_t i = 0; i < main.num_nodes(); ++i) {
    const NodeId id(i);
    if (main.op(id) == nullptr || !is_dynamic(main.type(id))) continue;
    const auto operands = main.operands(id);
    const bool inherited = std::any_of(operands.begin(), operands.end(),
                                       [&](NodeId o) { return is_dynamic(main.type(o)); });
    if (!inherited) errors.add(dynamic_result(main, id));
  }
  if (!errors.empty()) return fail(std::move(errors));
  return {};
}

}  // namespace tessera::driver
