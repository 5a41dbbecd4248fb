// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/location.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>

#include <fmt/core.h>

#include "diagnostics/places.h"

namespace tessera {

// Every kernel's banner asks for a position: the lines of a large model are counted once.
SourceFile::SourceFile(std::string file_name, std::string content)
    : name(std::move(file_name)), text(std::move(content)), line_begins_{0} {
  for (auto end = text.find('\n'); end != std::string::npos; end = text.find('\n', end + 1)) {
    line_begins_.push_back(static_cast<std::uint32_t>(end + 1));
  }
}

SourceFile::Position SourceFile::position(std::uint32_t offset) const {
  const std::uint32_t at = std::min(offset, static_cast<std::uint32_t>(text.size()));
  const auto next = std::upper_bound(line_begins_.begin(), line_begins_.end(), at);
  return {static_cast<std::uint32_t>(next - line_begins_.begin()), at - *(next - 1) + 1};
}

std::string_view SourceFile::line(std::uint32_t number) const {
  if (number == 0 || number > line_begins_.size()) return {};
  std::string_view rest = std::string_view(text).substr(line_begins_[number - 1]);
  rest = rest.substr(0, rest.find('\n'));
  if (rest.ends_with('\r')) rest.remove_suffix(1);
  return rest;
}

Location file_location(std::shared_ptr<const SourceFile> file, std::uint32_t begin,
                       std::uint32_t end) {
  return std::make_shared<const LocationData>(LocationData{FileRange{std::move(file), begin, end}});
}

Location model_node_location(std::string file, std::string node) {
  return std::make_shared<const LocationData>(
      LocationData{ModelNode{std::move(file), std::move(node)}});
}

namespace {

// What makes two places the same one.
using PlaceKey = std::tuple<std::string_view, std::string_view, std::uint32_t, std::uint32_t>;

PlaceKey key_of(const LocationData& data) {
  if (const auto* range = std::get_if<FileRange>(&data.place)) {
    return {range->file->name, {}, range->begin, range->end};
  }
  const auto& node = std::get<ModelNode>(data.place);
  return {node.file, node.node, 0, 0};
}

void collect_parts(Location location, std::set<PlaceKey>& seen, std::vector<Location>& parts) {
  if (!location) return;
  if (const auto* fused = std::get_if<Fused>(&location->place)) {  // made here, so one level deep
    for (const auto& part : fused->parts) collect_parts(part, seen, parts);
    return;
  }
  if (seen.insert(key_of(*location)).second) parts.push_back(std::move(location));
}

}  // namespace

Location fuse_locations(std::vector<Location> parts) {
  std::set<PlaceKey> seen;
  std::vector<Location> flat;
  for (auto& part : parts) collect_parts(std::move(part), seen, flat);
  if (flat.empty()) return nullptr;
  if (flat.size() == 1) return flat.front();
  return std::make_shared<const LocationData>(LocationData{Fused{std::move(flat)}});
}

namespace {

std::string text_of(const Location& location, bool with_file) {
  if (!location) return "";
  if (const auto* range = std::get_if<FileRange>(&location->place)) {
    const auto at = range->file->position(range->begin);
    const std::string place = fmt::format("{}:{}", at.line, at.column);
    return with_file ? fmt::format("{}:{}", range->file->name, place) : place;
  }
  if (const auto* node = std::get_if<ModelNode>(&location->place)) {
    if (!with_file) return node->node;
    if (node->node.empty()) return node->file;
    const std::string place = fmt::format("node `{}`", node->node);
    return node->file.empty() ? place : fmt::format("{}: {}", node->file, place);
  }
  const auto& parts = std::get<Fused>(location->place).parts;
  return fmt::format("{} (and {} more)", text_of(parts.front(), with_file), parts.size() - 1);
}

}  // namespace

std::string to_string(const Location& location) { return text_of(location, true); }
std::string place_in_file(const Location& location) { return text_of(location, false); }

std::vector<std::string> nodes_of_model(const Location& location) {
  std::set<PlaceKey> seen;
  std::vector<Location> parts;
  collect_parts(location, seen, parts);
  std::vector<std::string> names;
  for (const Location& part : parts) {
    const auto* node = std::get_if<ModelNode>(&part->place);
    names.push_back(node != nullptr ? node->node : to_string(part));
  }
  return names;
}

bool share_a_place(const Location& a, const Location& b) {
  std::set<PlaceKey> of_a, of_b;
  std::vector<Location> parts;
  collect_parts(a, of_a, parts);
  collect_parts(b, of_b, parts);
  return std::any_of(of_b.begin(), of_b.end(),
                     [&](const PlaceKey& place) { return of_a.contains(place); });
}

}  // namespace tessera
