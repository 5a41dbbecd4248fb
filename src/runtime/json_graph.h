// SPDX-License-Identifier: Apache-2.0
// The graph that runtime-module back ends put into a library: JSON with the keys
//   nodes          list of {op: input|const|kernel, name, inputs: [[node, output, version]...],
//   attrs: {...}} arg_nodes      indices of nodes without inputs heads          output entries
//   node_row_ptr   prefix sums of the nodes' numbers of outputs, beginning with 0
// and attributes as [["text"...]]; `shape` is [[[dims]...]] and `dtype` [["name"...]], one an
// output. A size that is known at run time is a text in the place of a number
// (runtime/size_text.h). Any other key is an error.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/array.h"
#include "runtime/json.h"
#include "runtime/size_text.h"

namespace tessera::runtime {

// Output `index` of node `node`.
struct JsonEntry {
  std::uint32_t node, index;
};

enum class JsonOp : std::uint8_t { kInput, kConst, kKernel };

struct JsonNode {
  JsonOp op;
  std::string_view name;  // parameter, constant, operator or composite; ends in a zero byte
  const JsonEntry* inputs;
  std::uint32_t input_count;
  std::uint32_t output_count;
  JsonId attrs;  // kNoJson if there are none
};

class JsonGraph {
 public:
  // False: error() says why. To be called once; `text` need not stay.
  [[nodiscard]] bool parse(std::string_view text);
  const char* error() const { return error_.text(); }

  const Array<JsonNode>& nodes() const { return nodes_; }
  const Array<std::uint32_t>& arg_nodes() const { return arg_nodes_; }
  const Array<JsonEntry>& heads() const { return heads_; }
  const Array<std::uint32_t>& node_row_ptr() const { return node_row_ptr_; }
  // The number of an entry among all outputs of all nodes.
  std::uint32_t entry_id(JsonEntry e) const { return node_row_ptr_[e.node] + e.index; }

  bool has_attr(const JsonNode& node, std::string_view name) const;
  // Number of texts of an attribute, 0 if it is not there.
  std::uint32_t attr_size(const JsonNode& node, std::string_view name) const;
  // The i-th text of an attribute, written as a list or as a bare string; "" if it is not there.
  std::string_view attr_text(const JsonNode& node, std::string_view name,
                             std::uint32_t i = 0) const;
  // The same as a number; True and False are 1 and 0. *value stays as it is where the attribute is
  // not there. False: it is there and no number, or a size whose symbols have no values.
  [[nodiscard]] bool attr_int(const JsonNode& node, std::string_view name, std::int64_t* value,
                              std::uint32_t i = 0) const;

  // The value of a symbol, or of a whole expression, for what attr_int and shape say from now on.
  [[nodiscard]] bool set_size(std::string_view text, std::int64_t value) {
    return sizes_.set(text, value);
  }
  const SizeTable& sizes() const { return sizes_; }
  // The text of dimension `d` of an output where it is no number, else "".
  std::string_view size_text(const JsonNode& node, std::uint32_t output, std::uint32_t d) const;

  // Rank and dimensions of an output; `dims` has room for `capacity`. -1: not there, more than
  // that, or a size whose symbols have no values.
  std::int32_t shape(const JsonNode& node, std::uint32_t output, std::int64_t* dims,
                     std::int32_t capacity) const;
  std::string_view dtype(const JsonNode& node, std::uint32_t output) const;

 private:
  bool fail(const char* what);
  bool read_nodes(JsonId list);
  bool read_node(JsonId object);
  bool read_entries(JsonId list, Array<JsonEntry>* entries);
  bool read_numbers(JsonId list, Array<std::uint32_t>* numbers);
  bool check();
  // The list of an attribute's texts: [["a", "b"]] and ["a", "b"] give the inner list; a bare
  // string gives itself.
  JsonId attr_list(const JsonNode& node, std::string_view name) const;
  JsonId attr_at(const JsonNode& node, std::string_view name, std::uint32_t i) const;

  bool number(JsonId id, std::int64_t* value) const;

  JsonDocument document_;
  SizeTable sizes_;
  Array<JsonNode> nodes_;
  Array<JsonEntry> inputs_;  // of all nodes
  Array<std::uint32_t> arg_nodes_;
  Array<JsonEntry> heads_;
  Array<std::uint32_t> node_row_ptr_;
  TextBuffer error_;
};

}  // namespace tessera::runtime
