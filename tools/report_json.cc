// SPDX-License-Identifier: Apache-2.0
#include "tools/report_json.h"

#include <nlohmann/json.hpp>

#include "driver/float_operators_json.h"
#include "driver/weights_json.h"
#include "tools/collage_table.h"
#include "tools/tuning_table.h"

namespace tessera::tools {
namespace {

nlohmann::ordered_json errors_json(const std::vector<driver::OutputError>& list) {
  nlohmann::ordered_json errors = nlohmann::ordered_json::array();
  for (const driver::OutputError& e : list) {
    errors.push_back({{"output", e.output},
                      {"largest_error", e.largest},
                      {"relative_error", e.relative},
                      {"overflown_elements", e.overflown}});
  }
  return errors;
}

nlohmann::ordered_json tried_json(const std::vector<driver::TriedPrecision>& list) {
  nlohmann::ordered_json tried = nlohmann::ordered_json::array();
  for (const auto& [dtype, errors, is_chosen] : list) {
    tried.push_back(
        {{"dtype", to_string(dtype)}, {"chosen", is_chosen}, {"errors", errors_json(errors)}});
  }
  return tried;
}

nlohmann::ordered_json precision_json(const driver::CompileReport& r) {
  nlohmann::ordered_json kept = nlohmann::ordered_json::array();
  for (const auto& [op, reason, count] : r.precision->kept) {
    kept.push_back({{"operator", op}, {"count", count}, {"reason", reason}});
  }
  return {{"dtype", to_string(r.precision->dtype)},
          {"low_operators", r.precision->low},
          {"float32", kept},
          {"errors", errors_json(r.errors)}};
}

}  // namespace

nlohmann::ordered_json report_json(const driver::CompileReport& r) {
  nlohmann::ordered_json placement = nlohmann::ordered_json::array();
  for (const driver::PlacementRow& row : r.placement) {
    placement.push_back(
        {{"region", row.region}, {"backend", row.backend}, {"operators", row.operators}});
    if (!row.reason.empty()) placement.back()["reason"] = row.reason;
  }
  nlohmann::ordered_json stages = nlohmann::ordered_json::object();
  for (const driver::StageTime& s : r.stages) stages[s.name] = s.seconds;
  nlohmann::ordered_json json = {{"seconds", r.seconds},
                                 {"peak_bytes", r.peak_bytes},
                                 {"library_bytes", r.library_bytes},
                                 {"weight_bytes", r.weight_bytes},
                                 {"arena_bytes", r.arena_bytes},
                                 {"stages", stages},
                                 {"libraries", r.needed_libraries},
                                 {"placement", placement}};
  if (!r.tuned.empty()) json["tuned"] = tuning_json(r.tuned);
  if (r.collage) json["collage"] = collage_json(*r.collage);
  if (!r.weights.empty()) json["weights"] = driver::weights_json(r.weights);
  if (!r.float_operators.empty()) {
    json["float_operators"] = driver::float_operators_json(r.float_operators);
  }
  if (r.precision) json["precision"] = precision_json(r);
  if (!r.tried.empty()) json["tried_precisions"] = tried_json(r.tried);
  return json;
}

}  // namespace tessera::tools
