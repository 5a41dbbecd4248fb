// SPDX-License-Identifier: Apache-2.0
#include "driver/report_page.h"

#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "diagnostics/places.h"
#include "driver/collage_text.h"
#include "driver/graph_picture.h"
#include "driver/html.h"
#include "driver/memory_picture.h"
#include "driver/placement_table.h"
#include "link/code_sizes.h"
#include "relay/text/parse_value.h"
#include "tir/walk.h"
#include "types/target_list.h"

namespace tessera::driver {
namespace {

constexpr Literal kStyle =
    "body { font: 14px sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em; }\n"
    "table { border-collapse: collapse; margin: 0.5em 0; }\n"
    "th, td { border: 1px solid #ccc; padding: 0.2em 0.6em; text-align: left; vertical-align: top; "
    "}\n"
    "td { overflow-wrap: anywhere; }\n"
    "pre { overflow-x: auto; background: #f4f4f4; padding: 0.5em; }\n"
    "svg { width: 100%; height: auto; }\n"
    ".graph { overflow: auto; max-height: 90vh; border: 1px solid #ccc; }\n"
    ".graph svg { display: block; margin: auto; }\n"
    ".legend span { display: inline-block; width: 1em; height: 1em; margin-left: 0.8em; "
    "border: 1px solid #444; vertical-align: text-bottom; }\n";

Html list(const std::vector<std::string>& items) {
  Html out("<ul>\n");
  for (const std::string& item : items) out += html("<li>{}</li>\n", html_text(item));
  return out + "</ul>\n";
}

std::string types_text(const std::vector<Type>& types) {
  std::vector<std::string> texts;
  for (const Type& t : types) texts.push_back(to_string(t));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string sizes_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("({})", fmt::join(shape, ", "));
}

std::string dim_text(const DimBinding& d) {
  return d.size ? fmt::format("{}={}", d.name, *d.size) : relay::symbol_text(d.range);
}

class Page {
 public:
  explicit Page(const ReportFacts& facts)
      : f_(facts), report_(facts.report), module_(facts.lowered.module) {}

  std::string text() {
    const std::string name = std::filesystem::path(f_.options.model).filename().string();
    out_ = html(
        "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n"
        "<meta charset=\"utf-8\"/>\n<title>{0}: tessera</title>\n<style>\n{1}</style>\n</head>\n"
        "<body>\n<h1>{0}</h1>\n",
        html_text(name), kStyle);
    summary();
    options();
    stages();
    placement();
    collage();
    graph();
    measurements();
    kernels();
    memory();
    constants();
    weights();
    precision();
    libraries();
    warnings();
    return (std::move(out_) + "</body>\n</html>\n").text();
  }

 private:
  void section(Literal id, Literal title) { out_ += html("<h2 id=\"{}\">{}</h2>\n", id, title); }

  void summary() {
    HtmlTable table({"", ""});
    table.row({Html("library"), html_text(size_text(report_.library_bytes))});
    table.row({Html("of these weights"), html_text(size_text(report_.weight_bytes))});
    table.row({Html("arena of an instance"), html_text(size_text(report_.arena_bytes))});
    table.row({Html("time"), html_time(fmt::format("{:.3f} s", report_.seconds))});
    table.row({Html("peak memory of the compilation"), html_time(size_text(report_.peak_bytes))});
    out_ += std::move(table).done();
  }

  void options() {
    const CompileOptions& o = f_.options;
    section("options", "Options");
    HtmlTable table({"option", "value"});
    const auto row = [&](std::string_view option, const std::string& value) {
      if (!value.empty()) table.row({html_text(option), html_text(value)});
    };
    row("model", o.model);
    row("--output", o.output);
    for (const Target& t : o.targets) row("--target", short_text(t));
    row("--partition", std::string(to_string(o.partition)));
    row("--precision", to_string(o.precision));
    for (const DimBinding& d : o.dims) row("--dim", dim_text(d));
    for (const std::string& name : o.kept.names) row("--keep-weights", name);
    row("--keep-weights", o.kept.all ? "all" : "");
    row("--require", fmt::format("{}", fmt::join(o.require, ",")));
    row("--records", o.records);
    row("--tune", o.tuning.measures ? "yes" : "");
    row("--strict", o.strict ? "yes" : "");
    row("--verify", o.verify ? "yes" : "");
    row("--bundle", o.bundle == Bundle::kNone     ? ""
                    : o.bundle == Bundle::kBeside ? "yes"
                                                  : "inside");
    row("--reproducible", o.reproducible ? "yes" : "");
    out_ += std::move(table).done();
  }

  void stages() {
    section("stages", "Stages");
    HtmlTable table({"stage", "time", "result"});
    for (const StageTime& s : report_.stages) {
      table.row(
          {html_text(s.name), html_time(fmt::format("{:.3f} s", s.seconds)), html_text(s.result)});
    }
    out_ += std::move(table).done();
  }

  void placement() {
    section("placement", "Placement");
    HtmlTable table({"region", "back end", "operators", "nodes of the model",
                     "why a preferred back end declined"});
    for (const PlacementRow& row : report_.placement) {
      std::vector<std::string> places;
      for (const Location& at : row.sources) places.push_back(place_in_file(at));
      table.row({html_text(row.region), html_text(row.backend),
                 html_text(operators_text(row.operators)),
                 html_text(fmt::format("{}", fmt::join(places, ", "))), html_text(row.reason)});
    }
    out_ += std::move(table).done();
  }

  // What the search chose from, and how long whole plans take.
  void collage() {
    if (!report_.collage) return;
    section("collage", "Measured placement");
    HtmlTable plans({"plan", "time of the whole model", ""});
    for (const WholePlan& plan : report_.collage->plans) {
      plans.row({html_text(plan.name), html_time(time_text(plan)),
                 html_text(plan.is_chosen ? "written" : "")});
    }
    out_ += std::move(plans).done();
    HtmlTable regions({"operators", "nodes of the model", "chosen", "time", "otherwise"});
    for (const collage::PlannedRegion& row : report_.collage->regions) {
      std::vector<std::string> places;
      for (const Location& at : row.sources) places.push_back(place_in_file(at));
      regions.row({html_text(operators_text(row.operators)),
                   html_text(fmt::format("{}", fmt::join(places, ", "))), html_text(row.chosen.who),
                   html_time(time_text(row.chosen)), html_text(others_text(row.others))});
    }
    out_ += std::move(regions).done();
  }

  // Who computes what, as the program runs.
  void graph() {
    section("graph", "Graph by back end");
    out_ += graph_picture(module_, report_);
  }

  // Measured now or in records before: figures of a device, not of this compilation.
  void measurements() {
    if (report_.tuned.empty()) return;
    section("measurements", "Measurements");
    HtmlTable table({"product", "uses", "best", "time", "without records"});
    for (const tune::TuneRow& row : report_.tuned) {
      table.row({html_text(row.title), html("{}", row.uses),
                 html_text(row.best ? row.best->configuration : "none: " + row.problem),
                 row.best ? html_time(fmt::format("{:.2f} us", row.best->time_us)) : Html(),
                 html_text(row.first)});
    }
    out_ += std::move(table).done();
  }

  void kernels() {
    section("kernels", "Kernels");
    std::map<std::string, std::uint64_t> bytes;
    for (const std::string& object : f_.objects) bytes.merge(link::code_sizes(object));
    std::map<std::string, int> calls;
    tir::for_each_node(module_.prim_funcs.at("main").body, [&](const tir::Stmt& s) {
      if (const auto* call = s.as<tir::CallKernel>()) ++calls[call->symbol];
    });
    // A kernel's code for a GPU lies in images of many.
    const bool on_device = !is_on_host(compute_space(module_.targets));
    const std::string_view what = on_device ? " code of its launch" : " code";
    HtmlTable table({"symbol", "back end", "calls", "takes", "gives", "size"});
    for (const auto& [symbol, e] : module_.externs) {
      const auto code = bytes.find(symbol);
      const Artifact* a =
          e.artifact < 0 ? nullptr : &module_.artifacts[static_cast<std::size_t>(e.artifact)];
      const bool is_data = a != nullptr && a->kind == ArtifactKind::kRuntimeModule;
      const std::string size =
          is_data
              ? size_text(a->payload.size()) + (a->payload.starts_with('{') ? " graph" : " data")
              : (code == bytes.end() ? "" : size_text(code->second) + std::string(what));
      table.row({html_text(symbol), html_text(e.backend), html("{}", calls[symbol]),
                 html_text(types_text(e.inputs)), html_text(types_text(e.outputs)),
                 html_text(size)});
    }
    out_ += std::move(table).done();
  }

  void memory() {
    const plan::MemoryPlan& plan = f_.lowered.plan;
    section("memory", "Memory plan");
    for (std::size_t i = 0; i < plan.pools.size(); ++i) {
      const plan::Pool& pool = plan.pools[i];
      out_ +=
          html("<h3>{} on {}: {}</h3>\n", html_text(pool.name), html_text(to_string(pool.space)),
               html_text(size_text(static_cast<std::uint64_t>(pool.bytes))));
      out_ += memory_picture(plan, i);
    }
    out_ += html("<p>At most {} live at once.</p>\n",
                 html_text(size_text(static_cast<std::uint64_t>(plan.pressure_bytes))));
    const plan::Peak peak = plan::peak_of(plan.needs);
    if (!peak.needs.empty()) {
      out_ += html("<p>These make the peak, in statement {}:</p>\n", peak.tick);
      HtmlTable table({"what", "bytes", "pool", "at"});
      for (const std::size_t i : peak.needs) {
        const plan::Placement& at = plan.placements[i];
        table.row({html_text(plan.needs[i].name), html("{}", plan.needs[i].bytes),
                   html_text(plan.pools[static_cast<std::size_t>(at.pool)].name),
                   html("{}", at.offset)});
      }
      out_ += std::move(table).done();
    }
    out_ += html("<details><summary>as text</summary>\n<pre>{}</pre>\n</details>\n",
                 html_text(plan::print_plan(plan)));
  }

  void constants() {
    section("constants", "Constants");
    const emit::WeightsLayout& layout = f_.weights;
    std::map<std::uint32_t, std::string> kept;
    for (const KeptWeight& w : module_.kept_weights) kept[w.value.index()] = w.name;
    HtmlTable table({"constant", "type", "bytes", "at", "can be set as"});
    for (std::size_t i = 0; i < module_.constants.size(); ++i) {
      if (!layout.used[i]) continue;
      const Tensor& t = module_.constants[ConstantIndex(i)];
      const auto name = kept.find(static_cast<std::uint32_t>(i));
      table.row({html("{}", i), html_text(to_string(t.dtype) + " " + sizes_text(t.shape)),
                 html("{}", t.size_bytes()), html("{}", layout.offsets[i]),
                 name == kept.end() ? Html() : html_text(name->second)});
    }
    out_ += std::move(table).done();
  }

  void weights() {
    if (report_.weights.empty()) return;
    section("weights", "Weights");
    HtmlTable table({"read by", "matrix", "stored as", "by", "bytes", "before", "error"});
    for (const passes::WeightRow& row : report_.weights) {
      table.row({html_text(row.name), html_text(row.matrix), html_text(row.stored_as()),
                 html_text(row.reason), html("{}", row.bytes), html("{}", row.bytes_before),
                 html("{:.2g}", row.error)});
    }
    out_ += std::move(table).done();
  }

  void precision() {
    if (!report_.precision) return;
    section("precision", "Precision");
    HtmlTable table({"in float32", "calls", "reason"});
    for (const auto& [op, reason, count] : report_.precision->kept) {
      table.row({html_text(op), html("{}", count), html_text(reason)});
    }
    out_ += std::move(table).done();
    if (report_.errors.empty()) return;
    HtmlTable errors({"output", "largest difference from float32", "of its largest magnitude"});
    for (const OutputError& e : report_.errors) {
      errors.row({html_text(e.output), html("{:.3g}", e.largest), html("{:.3g}", e.relative)});
    }
    out_ += std::move(errors).done();
  }

  void libraries() {
    section("libraries", "Needed libraries");
    std::vector<std::string> items = f_.system_libraries;
    for (const std::string& l : report_.needed_libraries) items.push_back(l + ", opened at create");
    out_ += list(items);
  }

  void warnings() {
    section("warnings", "Warnings");
    std::vector<std::string> items;
    for (const Diagnostic& w : report_.warnings) {
      const std::string place = place_in_file(w.location);
      items.push_back(fmt::format("{}{}{}: {}{}{}", place, place.empty() ? "" : ": ",
                                  code_text(w.code), w.message,
                                  w.remedy.empty() ? "" : "; help: ", w.remedy));
    }
    out_ += items.empty() ? Html("<p>none</p>\n") : list(items);
  }

  const ReportFacts& f_;
  const CompileReport& report_;
  const Module& module_;
  Html out_;
};

}  // namespace

std::string report_page(const ReportFacts& facts) { return Page(facts).text(); }

}  // namespace tessera::driver
