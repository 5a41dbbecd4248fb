// SPDX-License-Identifier: Apache-2.0
#include "driver/check_model.h"

#include <algorithm>

#include "types/computed.h"

namespace tessera::driver {
namespace {

using relay::Function;
using relay::NodeId;

bool has_function(const Type& type) {
  if (type.is_function()) return true;
  return type.is_tuple() && std::any_of(type.fields().begin(), type.fields().end(), has_function);
}

Diagnostic unsupported(const Location& at, std::string finding, std::string remedy) {
  return error(Code::kNotSupported, at, "{}", finding).with_remedy(std::move(remedy));
}

void check_nodes(const Module& module, const Function& f, Diagnostics& errors) {
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    const NodeId id(i);
    const auto* global = f.as<relay::GlobalRef>(id);
    if (global != nullptr && module.prim_funcs.contains(global->name)) {
      errors.add(unsupported(
          f[id].location,
          fmt::format("`@{}` is a loop function, and those of a text are checked, but not compiled",
                      global->name),
          "write what it does as a function of operators"));
    }
    const Type& type = f.type(id);
    if (!type) continue;
    if (const Type tensor = uncomputed_tensor(type)) {
      errors.add(unsupported(
          f[id].location,
          fmt::format("nothing can be computed with values of type {}", to_string(tensor)),
          "use bool, or integers or floats of 8 to 64 bits, one in an element"));
      return;  // what follows from it has the same fault
    }
    if (f.as<relay::If>(id) != nullptr && has_function(type)) {
      errors.add(unsupported(f[id].location, "the branches of an `if` give functions",
                             "call the functions in the branches"));
    }
  }
}

void check_main(const Function& main, Diagnostics& errors) {
  for (const char* name : {"Primitive", "Compiler", "Composite", "Extern", "SkipOptimization"}) {
    if (main.attrs.find(name) == nullptr) continue;
    errors.add(
        unsupported(main.location,
                    fmt::format("`@main` has the attribute `{}`, which is for functions "
                                "that others call",
                                name),
                    "give `@main` no such attribute, or add a function that calls this one"));
  }
  for (const NodeId param : main.params()) {
    if (!has_function(main.type(param))) continue;
    errors.add(unsupported(main[param].location, "a parameter of `@main` is a function",
                           "give a model tensors and tuples of them"));
  }
  if (has_function(main.type(main.result()))) {
    errors.add(unsupported(main[main.result()].location, "`@main` gives a function",
                           "return tensors and tuples of them"));
  }
}

}  // namespace

Result<void> check_model(const Module& module, const std::string& path) {
  const auto main = module.functions.find("main");
  if (main == module.functions.end()) {
    return fail(error(Code::kUnknownName, {}, "`{}` has no function `@main`", path)
                    .with_remedy("call the function that is the model `@main`"));
  }
  Diagnostics errors;
  check_main(main->second, errors);
  for (const auto& [name, f] : module.functions) check_nodes(module, f, errors);
  if (!errors.empty()) return fail(std::move(errors));
  return {};
}

}  // namespace tessera::driver
