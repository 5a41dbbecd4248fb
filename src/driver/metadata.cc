// SPDX-License-Identifier: Apache-2.0
#include "driver/metadata.h"

#include <span>

#include <nlohmann/json.hpp>

#include "diagnostics/places.h"
#include "driver/collage_text.h"
#include "driver/float_operators_json.h"
#include "driver/step_costs.h"
#include "driver/weights_json.h"
#include "plan/device.h"
#include "plan/sharing.h"
#include "plan/symbol_text.h"
#include "support/json_text.h"
#include "tir/expr_ops.h"
#include "tir/print.h"
#include "types/gpu_arch.h"
#include "types/target_list.h"

namespace tessera::driver {
namespace {

using Json = nlohmann::ordered_json;

Json ports(std::span<const tir::Buffer> buffers, const plan::MemoryPlan& plan) {
  Json list = Json::array();
  for (const tir::Buffer& b : buffers) {
    Json shape = Json::array();
    for (const tir::Expr& e : b->shape) {
      if (const std::int64_t* n = tir::as_int(e)) {
        shape.push_back(*n);
      } else if (e.as<tir::Load>() != nullptr) {
        shape.push_back("?");  // depends on data
      } else {
        shape.push_back(tir::print(e));
      }
    }
    list.push_back(
        {{"name", b->name}, {"dtype", to_string(b->dtype)}, {"shape", std::move(shape)}});
    if (const auto found = plan.ports.find(b.get()); found != plan.ports.end()) {
      const plan::Placement& at = found->second.at;
      list.back()["pool"] = plan.pools[static_cast<std::size_t>(at.pool)].name;
      list.back()["offset"] = at.offset;
    }
  }
  return list;
}

// Outputs that may lie in the memory of inputs, and which.
Json shared_memory(const Lowered& lowered, const std::vector<tir::Buffer>& outputs,
                   std::span<const tir::Buffer> inputs) {
  const tir::PrimFunc& main = lowered.module.prim_funcs.at("main");
  Json pairs = Json::array();
  const auto shareable = plan::shareable_inputs(main, lowered.module, inputs.size());
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    Json names = Json::array();
    for (const int i : shareable[o]) names.push_back(inputs[static_cast<std::size_t>(i)]->name);
    if (!names.empty()) pairs.push_back({{"output", outputs[o]->name}, {"inputs", names}});
  }
  return pairs;
}

// The model's symbols with their ranges; max -1: no bound.
Json symbols(const tir::PrimFunc& main, const SymbolTable& table) {
  Json list = Json::array();
  for (const tir::Expr& dim : main.dims) {
    const plan::ProgramSymbol s = plan::program_symbol(dim, table);
    Json symbol = {{"name", s.name}, {"min", s.min}, {"max", s.max}, {"step", s.step}};
    const std::string given = plan::name_in_model(main, s.name);
    if (given != s.name) symbol["in the model"] = given;
    list.push_back(std::move(symbol));
  }
  return list;
}

Json placement(const std::vector<PlacementRow>& rows) {
  Json list = Json::array();
  for (const PlacementRow& row : rows) {
    Json nodes = Json::array();
    for (const Location& at : row.sources) nodes.push_back(place_in_file(at));
    list.push_back({{"region", row.region},
                    {"backend", row.backend},
                    {"operators", row.operators},
                    {"nodes", std::move(nodes)}});
    if (!row.reason.empty()) list.back()["reason"] = row.reason;
  }
  return list;
}

// Regions of the plan that was searched, and who else was measured for them.
Json alternatives(const CollageReport& report) {
  Json list = Json::array();
  for (const collage::PlannedRegion& row : report.regions) {
    Json nodes = Json::array();
    for (const Location& at : row.sources) nodes.push_back(place_in_file(at));
    list.push_back({{"operators", row.operators},
                    {"nodes", std::move(nodes)},
                    {"fastest", way_text(row.chosen)},
                    {"otherwise", others_text(row.others)}});
  }
  return list;
}

Json whole_plans(const CollageReport& report) {
  Json list = Json::array();
  for (const WholePlan& plan : report.plans) {
    list.push_back({{"name", plan.name}, {"time", time_text(plan)}, {"written", plan.is_chosen}});
  }
  return list;
}

Json number_or_formula(const Dim& dim) {
  if (dim.is_constant()) return dim.constant();
  return dim.is_unknown() ? "?" : dim.expression_text();
}

Json steps(const Module& lowered) {
  Json list = Json::array();
  for (const StepCost& cost : step_costs(lowered)) {
    list.push_back({{"kernel", cost.kernel},
                    {"flops", number_or_formula(cost.flops)},
                    {"bytes", number_or_formula(cost.bytes)}});
    if (cost.is_narrow) list.back()["narrow"] = true;
  }
  return list;
}

// What code there is, in order of preference.
Json processors(std::span<const MachineCode> machines) {
  Json list = Json::array();
  for (const MachineCode& code : machines) {
    list.push_back({{"name", code.processor}, {"needs", code.cpu_features}});
  }
  return list;
}

Json kept_in_float32(const passes::PrecisionReport& report) {
  Json list = Json::array();
  for (const auto& [op, reason, count] : report.kept) {
    list.push_back({{"name", op}, {"count", count}, {"reason", reason}});
  }
  return list;
}

}  // namespace

std::string metadata_json(const Lowered& lowered, const CompileReport& report,
                          const std::string& target, std::span<const MachineCode> machines) {
  const tir::PrimFunc& main = lowered.module.prim_funcs.at("main");
  std::vector<tir::Buffer> outputs;
  for (const plan::ResultPort& p : plan::result_ports(main)) outputs.push_back(p.buffer);
  Json pools = Json::array();
  for (const plan::Pool& p : lowered.plan.pools)
    pools.push_back({{"name", p.name}, {"bytes", p.bytes}});
  const std::span<const tir::Buffer> inputs = main.inputs;
  const std::size_t kept = lowered.module.kept_weights.size();
  Json json = {
      {"target", target},
      {"inputs", ports(inputs.first(inputs.size() - kept), lowered.plan)},
      {"outputs", ports(outputs, lowered.plan)},
      {"symbols", symbols(main, lowered.module.symbols)},
      {"placement", placement(report.placement)},
      {"constants", lowered.module.constants.size()},
      {"weight_bytes", report.weight_bytes},
      {"pools", std::move(pools)},
      {"plan", plan::print_plan(lowered.plan)},
      {"libraries", report.needed_libraries},
      {"steps", steps(lowered.module)},
  };
  if (machines.size() > 1) json["processors"] = processors(machines);
  if (Json pairs = shared_memory(lowered, outputs, inputs.first(inputs.size() - kept));
      !pairs.empty()) {
    json["shared_memory"] = std::move(pairs);
  }
  if (report.collage) {
    json["alternatives"] = alternatives(*report.collage);
    json["plans"] = whole_plans(*report.collage);
  }
  if (kept > 0) json["kept_weights"] = ports(inputs.last(kept), lowered.plan);
  if (!report.weights.empty()) json["weights"] = weights_json(report.weights);
  if (!report.float_operators.empty()) {
    json["float_operators"] = float_operators_json(report.float_operators);
  }
  if (report.precision) {
    json["precision"] = to_string(report.precision->dtype);
    json["kept_in_float32"] = kept_in_float32(*report.precision);
  }
  if (const Target machine = compute_target(lowered.module.targets);
      !is_on_host(main_memory(machine.device()))) {
    const std::string& arch = machine.get_string("arch");
    Json architectures = Json::array({arch});
    if (machine.get_bool("ptx") && has_ptx_for_later(arch)) {
      architectures.push_back("later ones, compiled by the driver");
    }
    json["gpu_architectures"] = std::move(architectures);
    const std::string obstacle = plan::replay_obstacle(main, lowered.module, lowered.plan);
    json["replay"] = obstacle.empty() ? "as a CUDA graph" : "none: " + obstacle;
  }
  return json_text(json);
}

}  // namespace tessera::driver
