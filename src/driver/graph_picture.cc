// SPDX-License-Identifier: Apache-2.0
#include "driver/graph_picture.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "driver/collage_text.h"
#include "driver/layered_layout.h"
#include "driver/placement_table.h"
#include "driver/planned_calls.h"
#include "driver/program_graph.h"
#include "tir/print.h"

namespace tessera::driver {
namespace {

constexpr LayoutSizes kSizes = {.node_width = 220,
                                .node_height = 38,
                                .bend_width = 8,
                                .between_neighbours = 16,
                                .between_layers = 30};
constexpr int kMargin = 8, kFirstLine = 16, kSecondLine = 30;
constexpr std::size_t kLetters = 30;    // of a line inside of a box
constexpr std::size_t kMostListed = 8;  // in a tooltip

// Light ones, for black letters; those of few back ends differ most.
constexpr std::array<Literal, 10> kColours = {"#a6cee3", "#fdbf6f", "#b2df8a", "#cab2d6",
                                              "#fb9a99", "#ffff99", "#d9d9d9", "#80cdc1",
                                              "#c7a27c", "#f4cae4"};

std::string shortened(const std::string& text) {
  return text.size() <= kLetters ? text : text.substr(0, kLetters - 1) + "\xe2\x80\xa6";
}

std::string listed(const std::vector<std::string>& texts) {
  const std::size_t shown = std::min(texts.size(), kMostListed);
  std::string text = fmt::format("{}", fmt::join(std::span(texts).first(shown), ", "));
  if (shown < texts.size()) text += fmt::format(" and {} more", texts.size() - shown);
  return text;
}

// "nn.dense: onednn 12.3 us; otherwise native 20.1 us"
std::string region_text(const collage::PlannedRegion& region) {
  std::string text = operators_text(region.operators) + ": " + way_text(region.chosen);
  if (!region.others.empty()) text += "; otherwise " + others_text(region.others);
  return text;
}

std::string tensor_text(const tir::Buffer& b) {
  std::vector<std::string> sizes;
  for (const tir::Expr& e : b->shape) {
    sizes.push_back(e.as<tir::Load>() != nullptr ? "?" : tir::print(e));
  }
  return fmt::format("{}: {} ({})", b->name, to_string(b->dtype), fmt::join(sizes, ", "));
}

// Through the points; upright where it enters and leaves a layer.
Html path_data(const std::vector<Point>& points) {
  Html data = html("M{} {}", points.front().x, points.front().y);
  for (std::size_t i = 1; i < points.size(); ++i) {
    const Point &from = points[i - 1], &to = points[i];
    const bool goes_on = i + 1 < points.size() && points[i + 1].x == to.x;
    if (from.x != to.x) {
      const int middle = (from.y + to.y) / 2;
      data += html("C{} {} {} {} {} {}", from.x, middle, to.x, middle, to.x, to.y);
    } else if (!goes_on) {
      data += html("V{}", to.y);
    }
  }
  return data;
}

class GraphPicture {
 public:
  GraphPicture(const Module& lowered, const CompileReport& report, const ProgramGraph& graph,
               const LayeredLayout& layout)
      : module_(lowered), graph_(graph), layout_(layout), planned_(planned_calls(report)) {
    for (const ProgramCall& call : graph.calls) {
      ++num_calls_[call.symbol];
      const std::string& backend = backend_of(call);
      if (std::find(backends_.begin(), backends_.end(), backend) == backends_.end()) {
        backends_.push_back(backend);
      }
    }
  }

  Html legend() const {
    Html out("<p class=\"legend\">");
    for (const std::string& backend : backends_) {
      out += html("<span style=\"background: {}\"></span> {} ", colour_of(backend),
                  html_text(share_text(backend)));
    }
    return out + "</p>\n";
  }

  Html picture() const {
    const int width = layout_.width + 2 * kMargin, height = layout_.height + 2 * kMargin;
    Html out = html(
        "<div class=\"graph\">\n<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"{0} {0} {1} "
        "{2}\" style=\"width: {1}px; height: {2}px\" role=\"img\" font-family=\"sans-serif\" "
        "font-size=\"11\">\n<title>calls of the library</title>\n",
        -kMargin, width, height);
    out += "<g fill=\"none\" stroke=\"#777\" stroke-width=\"1.2\">\n";
    for (std::size_t i = 0; i < graph_.edges.size(); ++i) out += line(i);
    out += "</g>\n<g stroke-width=\"0.7\">\n";
    for (std::size_t i = 0; i < graph_.calls.size(); ++i) out += box(i);
    return out + "</g>\n</svg>\n</div>\n";
  }

 private:
  const std::string& backend_of(const ProgramCall& call) const {
    return module_.externs.at(call.symbol).backend;
  }
  Literal colour_of(const std::string& backend) const {
    const auto at = std::find(backends_.begin(), backends_.end(), backend) - backends_.begin();
    return kColours[static_cast<std::size_t>(at) % kColours.size()];
  }

  // "onednn: 12 calls, 230.1 us"
  std::string share_text(const std::string& backend) const {
    int calls = 0;
    std::optional<double> seconds = 0;
    for (const auto& [symbol, count] : num_calls_) {
      if (module_.externs.at(symbol).backend != backend) continue;
      calls += count;
      const auto known = planned_.find(symbol);
      const bool has_time = known != planned_.end() && known->second.seconds;
      seconds =
          has_time && seconds ? std::optional(*seconds + *known->second.seconds) : std::nullopt;
    }
    return fmt::format("{}: {} {}{}", backend, calls, calls == 1 ? "call" : "calls",
                       seconds ? ", " + microseconds(*seconds) : "");
  }

  // Of one of the calls of its symbol; "" where it is not known.
  std::string time_text(const ProgramCall& call) const {
    const auto known = planned_.find(call.symbol);
    if (known == planned_.end() || !known->second.seconds) return "";
    return microseconds(*known->second.seconds / num_calls_.at(call.symbol));
  }

  Html line(std::size_t index) const {
    std::vector<std::string> tensors;
    for (const tir::Buffer& b : graph_.edges[index].tensors) tensors.push_back(tensor_text(b));
    return html("<path d=\"{}\"><title>{}</title></path>\n", path_data(layout_.edges[index]),
                html_text(listed(tensors)));
  }

  Html box(std::size_t index) const {
    const ProgramCall& call = graph_.calls[index];
    const auto [x, y] = layout_.nodes[index];
    const std::string time = time_text(call);
    const std::string second = backend_of(call) + (time.empty() ? "" : ", " + time);
    return html(
        "<g><title>{}</title><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"6\" "
        "fill=\"{}\" stroke=\"#444\"/><text x=\"{}\" y=\"{}\">{}</text><text x=\"{}\" y=\"{}\" "
        "fill=\"#444\">{}</text></g>\n",
        html_text(tooltip(call)), x, y, kSizes.node_width, kSizes.node_height,
        colour_of(backend_of(call)), x + kMargin, y + kFirstLine,
        html_text(shortened(title_of(call))), x + kMargin, y + kSecondLine,
        html_text(shortened(second)));
  }

  std::string title_of(const ProgramCall& call) const {
    const std::vector<std::string>& operators = module_.externs.at(call.symbol).operators;
    return operators.empty() ? call.symbol : operators_text(operators);
  }

  std::string tooltip(const ProgramCall& call) const {
    std::vector<std::string> lines = {fmt::format("{}: {}", backend_of(call), call.symbol),
                                      title_of(call)};
    if (const auto known = planned_.find(call.symbol); known != planned_.end()) {
      add_planned(known->second, num_calls_.at(call.symbol), lines);
    }
    if (!call.inputs.empty()) lines.push_back("reads " + listed(call.inputs));
    if (!call.outputs.empty()) lines.push_back("gives " + listed(call.outputs));
    return fmt::format("{}", fmt::join(lines, "\n"));
  }

  static void add_planned(const PlannedCalls& planned, int num_calls,
                          std::vector<std::string>& lines) {
    if (!planned.nodes.empty()) {
      lines.push_back(
          (num_calls == 1 ? "nodes: " : fmt::format("nodes of its {} calls: ", num_calls)) +
          listed(planned.nodes));
    }
    std::vector<std::string> texts;
    for (const collage::PlannedRegion* region : planned.regions) {
      texts.push_back(region_text(*region));
    }
    const auto all = counted(texts);
    for (std::size_t i = 0; i < std::min(all.size(), kMostListed); ++i) {
      const auto& [text, count] = all[i];
      lines.push_back(count == 1 ? text : fmt::format("{} x {}", count, text));
    }
    if (all.size() > kMostListed) {
      lines.push_back(fmt::format("and {} more kinds of regions", all.size() - kMostListed));
    }
  }

  const Module& module_;
  const ProgramGraph& graph_;
  const LayeredLayout& layout_;
  const std::map<std::string, PlannedCalls> planned_;  // by symbol
  std::map<std::string, int> num_calls_;               // by symbol
  std::vector<std::string> backends_;                  // in the order of their first calls
};

}  // namespace

Html graph_picture(const Module& lowered, const CompileReport& report) {
  const ProgramGraph graph = program_graph(lowered.prim_funcs.at("main"));
  if (graph.calls.empty()) return Html("<p>The library calls nothing.</p>\n");
  std::vector<LayoutEdge> edges;
  for (const ProgramEdge& e : graph.edges) edges.push_back({e.from, e.to});
  std::optional<LayeredLayout> layout;
  if (graph.calls.size() <= kMostCallsInPicture) {
    layout = layered_layout(graph.calls.size(), edges, kSizes);
  }
  if (!layout) {
    return html(
        "<p>The library makes {} calls, with {} ways of tensors between them: too many for "
        "a picture.</p>\n",
        graph.calls.size(), edges.size());
  }
  const GraphPicture picture(lowered, report, graph, *layout);
  const Literal times =
      report.collage ? Literal(" Times are of calls by themselves, as measured.") : Literal();
  return picture.legend() +
         html(
             "<p>A box is a call of the library, below those whose results it reads; a pointer on "
             "it shows more.{}</p>\n",
             times) +
         picture.picture();
}

}  // namespace tessera::driver
