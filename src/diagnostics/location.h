// SPDX-License-Identifier: Apache-2.0
// Where a thing comes from: a range of a text file, a node of an ONNX model, or several of these.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tessera {

// A text that was read, kept for excerpts in messages; it stays as it is. Lines and columns count
// from 1; columns are bytes.
struct SourceFile {
  SourceFile(std::string name, std::string text);

  std::string name;  // as the user gave it; "-" is standard input
  std::string text;

  struct Position {
    std::uint32_t line = 1, column = 1;
  };
  Position position(std::uint32_t offset) const;
  std::string_view line(std::uint32_t number) const;

 private:
  std::vector<std::uint32_t> line_begins_;  // where each starts in the text, ascending
};

struct LocationData;
// Null: unknown. Shared and immutable; passes hand it on to the nodes that they make.
using Location = std::shared_ptr<const LocationData>;

struct FileRange {
  std::shared_ptr<const SourceFile> file;
  std::uint32_t begin = 0, end = 0;  // byte offsets, half open
};
struct ModelNode {
  std::string file, node;  // ONNX file and node name (or `OpType -> output` where it has no name)
};
struct Fused {
  std::vector<Location> parts;
};
struct LocationData {
  std::variant<FileRange, ModelNode, Fused> place;
};

Location file_location(std::shared_ptr<const SourceFile> file, std::uint32_t begin,
                       std::uint32_t end);
Location model_node_location(std::string file, std::string node);
// One location for what was made of several; nulls and repetitions are dropped.
Location fuse_locations(std::vector<Location> parts);

// "model.relay:7:8", "model.onnx: node `/encoder/Add`", or "" for an unknown place.
std::string to_string(const Location& location);

}  // namespace tessera
