// SPDX-License-Identifier: Apache-2.0
#include "runtime/json_graph.h"

namespace tessera::runtime {

bool JsonGraph::fail(const char* what) {
  error_.add("JSON graph: %s", what);
  return false;
}

bool JsonGraph::parse(std::string_view text) {
  if (!document_.parse(text)) {
    error_.add("%s", document_.error());
    return false;
  }
  const JsonId root = document_.root();
  if (document_.kind(root) != JsonKind::kObject) return fail("not an object");
  for (JsonId id = document_.first_child(root); id != kNoJson; id = document_.next_sibling(id)) {
    const std::string_view key = document_.key(id);
    if (document_.kind(id) != JsonKind::kArray) return fail("a member is not a list");
    bool read = false;
    if (key == "nodes") {
      read = read_nodes(id);
    } else if (key == "arg_nodes") {
      read = read_numbers(id, &arg_nodes_);
    } else if (key == "heads") {
      read = read_entries(id, &heads_);
    } else if (key == "node_row_ptr") {
      read = read_numbers(id, &node_row_ptr_);
    } else {
      error_.add("JSON graph: unknown key `%s`", key.data());
    }
    if (!read) return false;
  }
  return check();
}

bool JsonGraph::read_nodes(JsonId list) {
  for (JsonId id = document_.first_child(list); id != kNoJson; id = document_.next_sibling(id)) {
    if (!read_node(id)) return false;
  }
  // The list of inputs has moved while it grew: its nodes' parts are pointed at now.
  const JsonEntry* next = inputs_.data();
  for (JsonNode& node : nodes_) {
    node.inputs = next;
    next += node.input_count;
  }
  return true;
}

bool JsonGraph::read_node(JsonId object) {
  if (document_.kind(object) != JsonKind::kObject) return fail("a node is not an object");
  JsonNode node = {JsonOp::kKernel, "", nullptr, 0, 1, kNoJson};
  std::string_view op;
  for (JsonId id = document_.first_child(object); id != kNoJson; id = document_.next_sibling(id)) {
    const std::string_view key = document_.key(id);
    if (key == "op") {
      op = document_.text(id);
    } else if (key == "name") {
      node.name = document_.text(id);
    } else if (key == "inputs") {
      const std::size_t before = inputs_.size();
      if (!read_entries(id, &inputs_)) return false;
      node.input_count = static_cast<std::uint32_t>(inputs_.size() - before);
    } else if (key == "attrs" || key == "attr") {
      node.attrs = id;
    } else {
      error_.add("JSON graph: unknown key `%s` of a node", key.data());
      return false;
    }
  }
  if (op == "input") {
    node.op = JsonOp::kInput;
  } else if (op == "const") {
    node.op = JsonOp::kConst;
  } else if (op != "kernel") {
    return fail("a node's op is not input, const or kernel");
  }
  std::int64_t outputs = 1;
  if (!attr_int(node, "num_outputs", &outputs) || outputs < 0 || outputs > UINT32_MAX) {
    return fail("a node's number of outputs is not a number");
  }
  node.output_count = static_cast<std::uint32_t>(outputs);
  return nodes_.push(node) || fail("out of memory");
}

bool JsonGraph::read_entries(JsonId list, Array<JsonEntry>* entries) {
  for (JsonId id = document_.first_child(list); id != kNoJson; id = document_.next_sibling(id)) {
    std::int64_t node = -1, index = -1;
    const JsonId first = document_.first_child(id);
    const bool pair = document_.kind(id) == JsonKind::kArray && document_.size(id) >= 2 &&
                      document_.integer(first, &node) &&
                      document_.integer(document_.next_sibling(first), &index);
    if (!pair || node < 0 || index < 0 || node > UINT32_MAX || index > UINT32_MAX) {
      return fail("an entry is not [node, output, version]");
    }
    if (!entries->push({static_cast<std::uint32_t>(node), static_cast<std::uint32_t>(index)})) {
      return fail("out of memory");
    }
  }
  return true;
}

bool JsonGraph::read_numbers(JsonId list, Array<std::uint32_t>* numbers) {
  for (JsonId id = document_.first_child(list); id != kNoJson; id = document_.next_sibling(id)) {
    std::int64_t value = -1;
    if (!document_.integer(id, &value) || value < 0 || value > UINT32_MAX) {
      return fail("an index is not a number");
    }
    if (!numbers->push(static_cast<std::uint32_t>(value))) return fail("out of memory");
  }
  return true;
}

// Every index is in range and points backwards, so that users of the graph need not check.
bool JsonGraph::check() {
  if (node_row_ptr_.size() != nodes_.size() + 1 || node_row_ptr_[0] != 0) {
    return fail("node_row_ptr does not fit the nodes");
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const JsonNode& node = nodes_[i];
    if (node_row_ptr_[i + 1] - node_row_ptr_[i] != node.output_count) {
      return fail("node_row_ptr does not fit a node's number of outputs");
    }
    for (std::uint32_t k = 0; k < node.input_count; ++k) {
      const JsonEntry e = node.inputs[k];
      if (e.node >= i || e.index >= nodes_[e.node].output_count) {
        return fail("a node's input does not exist before it");
      }
    }
  }
  for (const JsonEntry e : heads_) {
    if (e.node >= nodes_.size() || e.index >= nodes_[e.node].output_count) {
      return fail("a head does not exist");
    }
  }
  for (const std::uint32_t node : arg_nodes_) {
    if (node >= nodes_.size()) return fail("an argument does not exist");
  }
  return true;
}

JsonId JsonGraph::attr_list(const JsonNode& node, std::string_view name) const {
  if (node.attrs == kNoJson) return kNoJson;
  JsonId id = document_.member(node.attrs, name);
  if (id == kNoJson || document_.kind(id) != JsonKind::kArray) return id;
  const JsonId first = document_.first_child(id);
  return first != kNoJson && document_.kind(first) == JsonKind::kArray ? first : id;
}

JsonId JsonGraph::attr_at(const JsonNode& node, std::string_view name, std::uint32_t i) const {
  JsonId id = attr_list(node, name);
  if (id == kNoJson) return kNoJson;
  if (document_.kind(id) != JsonKind::kArray) return i == 0 ? id : kNoJson;
  id = document_.first_child(id);
  while (i-- > 0 && id != kNoJson) id = document_.next_sibling(id);
  return id;
}

bool JsonGraph::has_attr(const JsonNode& node, std::string_view name) const {
  return attr_list(node, name) != kNoJson;
}

std::uint32_t JsonGraph::attr_size(const JsonNode& node, std::string_view name) const {
  const JsonId id = attr_list(node, name);
  if (id == kNoJson) return 0;
  return document_.kind(id) == JsonKind::kArray ? document_.size(id) : 1;
}

std::string_view JsonGraph::attr_text(const JsonNode& node, std::string_view name,
                                      std::uint32_t i) const {
  const JsonId id = attr_at(node, name, i);
  return id == kNoJson ? std::string_view("") : document_.text(id);
}

bool JsonGraph::attr_int(const JsonNode& node, std::string_view name, std::int64_t* value,
                         std::uint32_t i) const {
  const JsonId id = attr_at(node, name, i);
  if (id == kNoJson) return true;
  const std::string_view text = document_.text(id);
  const bool is_true = text == "True" || text == "true";
  if (!is_true && text != "False" && text != "false") return number(id, value);
  *value = is_true ? 1 : 0;
  return true;
}

bool JsonGraph::number(JsonId id, std::int64_t* value) const {
  if (document_.integer(id, value)) return true;
  return document_.kind(id) == JsonKind::kString && sizes_.evaluate(document_.text(id), value);
}

std::string_view JsonGraph::size_text(const JsonNode& node, std::uint32_t output,
                                      std::uint32_t d) const {
  const JsonId list = attr_at(node, "shape", output);
  if (list == kNoJson || document_.kind(list) != JsonKind::kArray) return "";
  JsonId id = document_.first_child(list);
  while (d-- > 0 && id != kNoJson) id = document_.next_sibling(id);
  const bool is_text = id != kNoJson && document_.kind(id) == JsonKind::kString;
  return is_text ? document_.text(id) : std::string_view("");
}

std::int32_t JsonGraph::shape(const JsonNode& node, std::uint32_t output, std::int64_t* dims,
                              std::int32_t capacity) const {
  const JsonId list = attr_at(node, "shape", output);
  if (list == kNoJson || document_.kind(list) != JsonKind::kArray ||
      document_.size(list) > static_cast<std::uint32_t>(capacity)) {
    return -1;
  }
  std::int32_t rank = 0;
  for (JsonId id = document_.first_child(list); id != kNoJson; id = document_.next_sibling(id)) {
    if (!number(id, &dims[rank++])) return -1;
  }
  return rank;
}

std::string_view JsonGraph::dtype(const JsonNode& node, std::uint32_t output) const {
  return attr_text(node, "dtype", output);
}

}  // namespace tessera::runtime
