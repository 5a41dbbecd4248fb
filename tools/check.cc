// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "driver/acceptance.h"
#include "driver/placement_table.h"
#include "support/json_text.h"
#include "support/visible_text.h"
#include "tools/target_options.h"

namespace tessera::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kShownPlaces = 10;  // of a reason, as text; JSON has all

struct CheckArgs {
  ModelOptionTexts model;
  bool json = false;
};

Json node_json(const import::OnnxNode& node) {
  return {{"name", node.name},
          {"operator", node.op_type},
          {"domain", node.domain},
          {"opset", node.opset}};
}

Json diagnostic_json(const Diagnostic& d) {
  Json json = {{"code", code_text(d.code)}, {"reason", d.message}};
  if (!d.remedy.empty()) json["remedy"] = d.remedy;
  return json;
}

Json acceptance_json(const driver::Acceptance& found) {
  Json refused = Json::array(), not_looked_at = Json::array(), slow = Json::array();
  for (const driver::Refusal& r : found.refused) {
    Json json = diagnostic_json(r.why), places = Json::array();
    for (const driver::RefusedPlace& p : r.places) {
      places.push_back(p.node ? node_json(*p.node) : Json({{"name", p.place}}));
    }
    json["places"] = std::move(places);
    refused.push_back(std::move(json));
  }
  for (const import::OnnxNode& node : found.not_looked_at) not_looked_at.push_back(node_json(node));
  for (const driver::SlowPart& s : found.slow) {
    slow.push_back({{"what", s.what}, {"reason", s.reason}, {"places", s.places}});
  }
  Json warnings = Json::array();
  for (const Diagnostic& w : found.warnings) warnings.push_back(diagnostic_json(w));
  return {{"compiles", found.refused.empty()},
          {"refused", refused},
          {"not_looked_at", not_looked_at},
          {"warnings", warnings},
          {"slow", slow}};
}

void print_places(const std::vector<std::string>& places) {
  for (std::size_t i = 0; i < places.size() && i < kShownPlaces; ++i)
    show("  {}\n", visible(places[i]));
  if (places.size() > kShownPlaces) {
    show("  and {} more, which --json lists\n", places.size() - kShownPlaces);
  }
}

std::string node_text(const import::OnnxNode& node) {
  return fmt::format("{}: {} of {} opset {}", node.name, node.op_type, node.domain, node.opset);
}

void print_refused(const driver::Acceptance& found, const std::string& model) {
  std::size_t count = 0;
  for (const driver::Refusal& r : found.refused) count += std::max<std::size_t>(r.places.size(), 1);
  show("{} would be refused: {} findings, {} reasons\n", model, count, found.refused.size());
  for (const driver::Refusal& r : found.refused) {
    show("\nerror[{}]: {}\n", code_text(r.why.code), r.why.message);
    if (!r.why.remedy.empty()) show("help: {}\n", r.why.remedy);
    std::vector<std::string> places;
    for (const driver::RefusedPlace& p : r.places) {
      places.push_back(p.node ? node_text(*p.node) : p.place);
    }
    print_places(places);
  }
  if (found.not_looked_at.empty()) return;
  show("\nnot looked at, as they need what refused nodes were to give: {} nodes\n",
       found.not_looked_at.size());
  std::vector<std::string> places;
  for (const import::OnnxNode& node : found.not_looked_at) places.push_back(node_text(node));
  print_places(places);
}

void print_accepted(const driver::Acceptance& found, const std::string& model) {
  show("{} compiles\n\n{}", model, driver::placement_table(found.placement));
  for (const driver::SlowPart& s : found.slow) {
    show("\nslow: {}, {}\n", s.what, s.reason);
    print_places(s.places);
  }
}

int check(const CheckArgs& args) {
  const Result<driver::CompileOptions> options = resolve(args.model);
  if (!options) return report(options.error());
  const driver::Acceptance found = driver::check_acceptance(*options);
  const bool compiles = found.refused.empty();
  if (args.json) {
    show("{}\n", json_text(acceptance_json(found), 2));
  } else {
    for (const Diagnostic& w : found.warnings) report(w);
    compiles ? print_accepted(found, options->model) : print_refused(found, options->model);
  }
  return compiles ? kDone : kUserError;
}

}  // namespace

void add_check(CLI::App& app, Action& chosen) {
  auto args = std::make_shared<CheckArgs>();
  CLI::App* command = app.add_subcommand(
      "check", "Tell all that `compile` would refuse of a model, or what of it would be slow");
  command->add_option("model", args->model.options.model, "ONNX model, or Relay text (.relay)")
      ->required();
  add_model_options(*command, args->model);
  command->add_flag("--json", args->json, "Print one JSON object");
  command->callback([&chosen, args] { chosen = [args] { return check(*args); }; });
}

}  // namespace tessera::tools
