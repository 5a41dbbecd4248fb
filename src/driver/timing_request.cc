// SPDX-License-Identifier: Apache-2.0
#include "driver/timing_request.h"

#include <nlohmann/json.hpp>

namespace tessera::driver {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const LibraryProgram& p) {
  return {{"library", p.library}, {"entry", p.entry}, {"likely", p.likely}, {"largest", p.largest}};
}

LibraryProgram program_of(const Json& json) {
  return {json.at("library"), json.at("entry"), json.at("likely"), json.at("largest")};
}

Json json_of(const RunLimits& runs) {
  return {{"fewest", runs.fewest}, {"most", runs.most}, {"seconds", runs.seconds}};
}

RunLimits limits_of(const Json& json) {
  return {json.at("fewest"), json.at("most"), json.at("seconds")};
}

}  // namespace

std::string to_text(const TimingRequest& request) {
  Json programs = Json::array();
  for (const TimedProgram& p : request.programs) {
    programs.push_back({{"program", json_of(p.program)},
                        {"reference", json_of(p.reference)},
                        {"tolerance", p.tolerance}});
  }
  Json json = {
      {"programs", std::move(programs)}, {"left", request.left},
      {"threads", request.how.threads},  {"weights_of_memory", request.how.weights_of_memory},
      {"warm_up", request.how.warm_up},  {"settle", request.how.settle},
      {"run", request.how.run},          {"largest_share", request.how.largest_share},
      {"repeats", request.how.repeats},  {"runs", json_of(request.how.runs)},
      {"on_gpu", request.how.on_gpu}};
  if (request.turns) {
    json["turns"] = {{"turns", request.turns->turns},
                     {"of_turn", json_of(request.turns->of_turn)},
                     {"tolerance", request.turns->tolerance}};
  }
  return json.dump();
}

Result<TimingRequest> parse_timing_request(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    TimingRequest request;
    for (const Json& p : json.at("programs")) {
      request.programs.push_back(
          {program_of(p.at("program")), program_of(p.at("reference")), p.at("tolerance")});
    }
    request.left = json.at("left").get<std::vector<std::size_t>>();
    request.how = {json.at("threads"), json.at("weights_of_memory"),
                   json.at("warm_up"), json.at("settle"),
                   json.at("run"),     json.at("largest_share"),
                   json.at("repeats"), limits_of(json.at("runs")),
                   json.at("on_gpu")};
    if (json.contains("turns")) {
      const Json& turns = json.at("turns");
      request.turns =
          Turns{turns.at("turns"), limits_of(turns.at("of_turn")), turns.at("tolerance")};
    }
    return request;
  } catch (const nlohmann::json::exception& e) {
    return fail(error(Code::kBadInput, {}, "this is no request to measure: {}", e.what())
                    .with_remedy("`tessera compile --partition collage` writes such requests"));
  }
}

}  // namespace tessera::driver
