// SPDX-License-Identifier: Apache-2.0
#include "lower/main.h"

#include <set>

#include "lower/host_lowering.h"
#include "lower/host_values.h"
#include "module/symbol_names.h"
#include "types/target_list.h"

namespace tessera::lower {
namespace {

// Functions that others call are parts of these.
std::set<std::string> entries(const Module& module) {
  std::set<std::string> names, called;
  for (const auto& [name, f] : module.functions) {
    if (is_host_function(f)) names.insert(name);
    for (std::size_t i = 0; i < f.num_nodes(); ++i) {
      const auto* global = f.as<relay::GlobalRef>(relay::NodeId(i));
      if (global) called.insert(global->name);
    }
  }
  called.erase("main");
  for (const std::string& name : called) names.erase(name);
  return names;
}

}  // namespace

Result<Module> lower(Module module) {
  // Calls go to externs, which back ends and this stage make: nobody calls what a text brought.
  std::erase_if(module.prim_funcs,
                [&](const auto& entry) { return !module.externs.contains(entry.first); });
  Diagnostics errors;
  Kernels kernels(module);
  std::map<std::string, tir::PrimFunc> hosts;
  for (const std::string& name : entries(module)) {
    HostProgram program(module.symbols);
    auto host = HostLowering(module.functions.at(name), name, module, kernels, program).run();
    if (host) {
      for (const auto& [symbol, given] : symbol_names(module.functions.at(name))) {
        host->attrs["symbol " + symbol] = given;
      }
      hosts.emplace(name, std::move(*host));
    } else {
      errors.add(std::move(host).error());
    }
  }
  if (!errors.empty()) return fail(std::move(errors));
  if (compute_target(module.targets).device() != DeviceType::kCpu) {
    place_host_values(hosts, module, kernels);
  }
  std::erase_if(module.functions,
                [](const auto& entry) { return relay::is_optimizable(entry.second); });
  module.prim_funcs.merge(hosts);
  return module;
}

}  // namespace tessera::lower
