// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "driver/load_model.h"
#include "driver/placement_table.h"
#include "import/onnx_contents.h"
#include "link/library_file.h"
#include "module/output_names.h"
#include "module/symbol_names.h"
#include "ops/records/table.h"
#include "runtime/program.h"
#include "support/json_text.h"
#include "support/visible_text.h"
#include "tools/session.h"
#include "tools/target_options.h"

namespace tessera::tools {
namespace {

using Json = nlohmann::ordered_json;

struct InspectArgs {
  std::string path;
  ImportTexts import;
  std::string node;
  bool json = false, operators = false;
};

Json ports_json(const std::vector<std::pair<std::string, Type>>& ports) {
  Json list = Json::array();
  for (const auto& [name, type] : ports)
    list.push_back({{"name", name}, {"type", to_string(type)}});
  return list;
}

Json model_json(const Module& module) {
  const relay::Function& main = module.functions.at("main");
  std::vector<std::pair<std::string, Type>> inputs, outputs;
  for (const relay::NodeId p : main.params())
    inputs.emplace_back(main.as<relay::Param>(p)->name, main.type(p));
  const std::vector<Type> results = flatten(main.type(main.result()));
  for (const std::string& name : output_names(main, results.size())) {
    outputs.emplace_back(name, results[outputs.size()]);
  }
  std::map<std::string, int> operators;
  for (const auto& [name, f] : module.functions) {  // loops are functions of their own
    for (std::size_t i = 0; i < f.num_nodes(); ++i) {
      if (const relay::Operator* op = f.op(relay::NodeId(i))) ++operators[std::string(op->name)];
    }
  }
  std::uint64_t bytes = 0;
  for (const Tensor& t : module.constants.tensors())
    bytes += static_cast<std::uint64_t>(t.size_bytes());
  Json symbols = Json::array();
  const auto given = symbol_names(main);
  for (const auto& [name, s] : module.symbols) {
    Json symbol = {{"name", name}, {"min", s.min}, {"max", s.max}, {"step", s.step}};
    if (const auto it = given.find(name); it != given.end()) symbol["in the model"] = it->second;
    symbols.push_back(std::move(symbol));
  }
  return {{"inputs", ports_json(inputs)},
          {"outputs", ports_json(outputs)},
          {"symbols", symbols},
          {"operators", operators},
          {"constants", module.constants.size()},
          {"weight_bytes", bytes}};
}

Json ports_json(const std::vector<import::OnnxPort>& ports) {
  Json list = Json::array();
  for (const import::OnnxPort& port : ports)
    list.push_back({{"name", port.name}, {"type", port.type}});
  return list;
}

// What the file itself says: there is no module.
Result<Json> unsupported_json(const std::string& path) {
  TESSERA_TRY(const import::OnnxContents contents, import::onnx_contents(path));
  Json operators = Json::array();
  for (const import::OperatorUse& use : contents.operators) {
    operators.push_back({{"name", use.op_type},
                         {"domain", use.domain},
                         {"opset", use.opset},
                         {"count", use.count}});
    if (!use.is_known) operators.back()["not supported"] = use.why.empty() ? "unknown" : use.why;
  }
  return Json{{"inputs", ports_json(contents.inputs)},
              {"outputs", ports_json(contents.outputs)},
              {"opsets", contents.opsets},
              {"operators", operators},
              {"compiles", false}};
}

Result<Json> inspect_model(const InspectArgs& args) {
  const Result<Module> module = import_model(args.path, args.import);
  if (module) return model_json(*module);
  const std::vector<Diagnostic>& errors = module.error().list;
  const bool lacks_support = std::any_of(errors.begin(), errors.end(), [](const Diagnostic& d) {
    return d.code == Code::kUnsupportedOnnxNode;
  });
  if (!lacks_support || driver::is_relay_text(args.path)) return fail(module.error());
  return unsupported_json(args.path);
}

Unexpected<Diagnostics> damaged(const std::string& path) {
  return fail(error(Code::kBadLibrary, {}, "the metadata of `{}` is damaged", path)
                  .with_remedy("copy the library again, or make it again with `tessera compile`"));
}

// Of a library with code for several processors: the one whose code this machine takes.
std::string taken_here(const Json& processors) {
  for (const Json& processor : processors) {
    const auto needs = processor.value("needs", std::vector<std::string>());
    const bool suits = std::all_of(needs.begin(), needs.end(), [](const std::string& feature) {
      return tessera_cpu_has(feature.c_str()) == 1;
    });
    if (suits) return processor.value("name", "");
  }
  return "none";
}

Result<Json> inspect_library(const InspectArgs& args) {
  const std::string& path = args.path;
  if (!args.import.dims.empty()) {
    return fail(
        error(Code::kBadOption, {}, "`{}` is a compiled library: --dim has no effect on it", path)
            .with_remedy("give the option to `tessera compile`, or inspect the model"));
  }
  TESSERA_TRY(const link::LibraryFile file, link::read_library_file(path));
  Json json = Json::parse(file.metadata, nullptr, false);
  if (!json.is_object()) return damaged(path);
  if (json.contains("processors")) json["taken here"] = taken_here(json["processors"]);
  json["needed"] = file.needed;
  json["exported"] = file.exported;
  std::error_code just_read;
  json["library_bytes"] = std::filesystem::file_size(path, just_read);
  return json;
}

// A value for people: texts without quotes, `(1, seq)`, `add 2, exp 1`.
std::string plain(const Json& value) {
  if (value.is_string()) return visible(value.get<std::string>());
  std::vector<std::string> items;
  if (value.is_object()) {
    for (const auto& [name, field] : value.items())
      items.push_back(visible(name) + " " + plain(field));
    return items.empty() ? "none" : fmt::format("{}", fmt::join(items, ", "));
  }
  if (!value.is_array()) return value.dump();
  for (const Json& item : value) items.push_back(plain(item));
  return fmt::format("({})", fmt::join(items, ", "));
}

// As `compile` prints it, which is without the nodes of the model: --json has them.
std::string placement_text(const Json& rows) {
  std::vector<driver::PlacementRow> table;
  for (const Json& row : rows) {
    table.push_back({row.value("region", ""),
                     row.value("backend", ""),
                     row.value("operators", std::vector<std::string>()),
                     {},
                     row.value("reason", "")});
  }
  return driver::placement_table(table);
}

// A text of several lines, each with what it may not do to a terminal made visible.
void print_lines(const std::string& key, std::string_view text) {
  show("{}:\n", key);
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    show("  {}\n", visible(line));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
}

// Values one a line; lists of objects one object a line, a name first.
void print_text(const Json& json) {
  for (const auto& [key, value] : json.items()) {
    if (key == "steps") continue;  // for `bench --profile`
    if (key == "placement" && !value.empty()) {
      show("{}", placement_text(value));
    } else if (key == "plan" && value.is_string()) {
      print_lines(key, value.get<std::string>());
    } else if (value.is_array() && !value.empty() && value[0].is_object()) {
      show("{}:\n", key);
      for (const Json& entry : value) {
        std::vector<std::string> words;
        for (const auto& [name, field] : entry.items()) {
          const bool obvious = name == "name" || name == "dtype" || name == "shape";
          const bool open = name == "max" && field == -1;
          words.push_back((obvious ? "" : name + " ") + (open ? "any" : plain(field)));
        }
        show("  {}\n", fmt::join(words, "  "));
      }
    } else {
      show("{}: {}\n", key, plain(value));
    }
  }
}

void print_operators() {
  for (const relay::Operator* op : ops::operators().all()) show("{}\n    {}\n", op->name, op->doc);
}

bool has_node(const Json& entry, const std::string& node) {
  const auto nodes = entry.value("nodes", std::vector<std::string>());
  return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

// Who computes a node of the model, and why: what `--node` asks.
Result<Json> about_node(const Json& library, const std::string& node) {
  Json found = Json::object();
  for (const char* key : {"placement", "alternatives"}) {
    if (!library.contains(key)) continue;
    for (const Json& entry : library[key]) {
      if (!has_node(entry, node)) continue;
      Json rest = entry;
      rest.erase("nodes");
      found[key].push_back(std::move(rest));
    }
  }
  if (!found.empty()) {
    if (library.contains("plans")) found["plans"] = library["plans"];
    return found;
  }
  return fail(
      error(Code::kBadOption, {}, "no kernel or region of the library computes `{}`", node)
          .with_remedy("`inspect --json` lists the nodes of each; one that is not there was "
                       "folded into constants, or joined with another"));
}

int inspect(const InspectArgs& args) {
  if (args.operators) {
    print_operators();
    return kDone;
  }
  Result<Json> json = is_library(args.path) ? inspect_library(args) : inspect_model(args);
  if (json && !args.node.empty()) json = about_node(*json, args.node);
  if (!json) return report(json.error());
  if (args.json) {
    show("{}\n", json_text(*json, 2));
    return kDone;
  }
  try {
    print_text(*json);
  } catch (const Json::exception&) {  // JSON still, and not ours any more
    return report(damaged(args.path).error);
  }
  return kDone;
}

}  // namespace

void add_inspect(CLI::App& app, Action& chosen) {
  auto args = std::make_shared<InspectArgs>();
  CLI::App* command = app.add_subcommand(
      "inspect", "Show what a library or a model is made of, without running it");
  CLI::Option* path = command->add_option("model", args->path, "Library (.so) or model");
  add_import_options(*command, args->import);
  CLI::Option* json = command->add_flag("--json", args->json, "Print one JSON object");
  CLI::Option* operators =
      command->add_flag("--operators", args->operators, "List the operators that exist");
  CLI::Option* node = command->add_option("--node", args->node,
                                          "Of a library: which kernel or region computes this node "
                                          "of the model, on whose code and why, "
                                          "and what was measured for it");
  for (CLI::Option* other :
       {path, node, command->get_option("--dim"), command->get_option("--limit"), json})
    operators->excludes(other);
  command->callback([&chosen, args, path, operators] {
    if (path->count() == 0 && operators->count() == 0) throw CLI::RequiredError("model");
    chosen = [args] { return inspect(*args); };
  });
}

}  // namespace tessera::tools
