// SPDX-License-Identifier: Apache-2.0
#include "driver/timing_request.h"

#include <nlohmann/json.hpp>

namespace tessera::driver {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const LibraryProgram& p) {
  return {
      {"library", p.library}, {"create", p.create}, {"likely", p.likely}, {"largest", p.largest}};
}

LibraryProgram program_of(const Json& json) {
  return {json.at("library"), json.at("create"), json.at("likely"), json.at("largest")};
}

}  // namespace

std::string to_text(const TimingRequest& request) {
  Json programs = Json::array();
  for (const TimedProgram& p : request.programs) {
    programs.push_back({{"program", json_of(p.program)},
                        {"reference", json_of(p.reference)},
                        {"tolerance", p.tolerance}});
  }
  Json json = {{"programs", std::move(programs)}, {"left", request.left},
               {"threads", request.how.threads},  {"model_bytes", request.how.model_bytes},
               {"warm_up", request.how.warm_up},  {"largest_share", request.how.largest_share},
               {"repeats", request.how.repeats}};
  if (request.turns) {
    json["turns"] = {{"turns", request.turns->turns},
                     {"most_runs", request.turns->most_runs},
                     {"seconds", request.turns->seconds},
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
    request.how = {json.at("threads"), json.at("model_bytes"), json.at("warm_up"),
                   json.at("largest_share"), json.at("repeats")};
    if (json.contains("turns")) {
      const Json& turns = json.at("turns");
      request.turns = Turns{turns.at("turns"), turns.at("most_runs"), turns.at("seconds"),
                            turns.at("tolerance")};
    }
    return request;
  } catch (const nlohmann::json::exception& e) {
    return fail(error(Code::kBadInput, {}, "this is no request to measure: {}", e.what())
                    .with_remedy("`tessera compile --partition collage` writes such requests"));
  }
}

}  // namespace tessera::driver
