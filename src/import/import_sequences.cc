// SPDX-License-Identifier: Apache-2.0
// Bodies that give or take sequences: they are imported once for each element or iteration.
#include <fmt/format.h>

#include "import/free_names.h"
#include "import/graph_importer.h"
#include "import/loop.h"
#include "import/value.h"

namespace tessera::import {
namespace {

// One iteration's values, by their names in the body.
void bind(Scope& body, const std::string& name, NodeId value, const Sequence* sequence) {
  if (sequence != nullptr) {
    body.sequences[name] = *sequence;
  } else {
    body.values[name] = value;
  }
}

const Sequence* find(const std::map<std::size_t, Sequence>& sequences, std::size_t i) {
  const auto it = sequences.find(i);
  return it == sequences.end() ? nullptr : &it->second;
}

// Does the body's first result say that another iteration follows?
bool is_true(const Node& at, NodeId condition) {
  const auto known = at.constant(condition);
  return known && element_as_int(*known, 0) != 0;
}

// The scan outputs that are used, as many as the node has.
void add_rows(Node& at, const Loop& loop, const std::vector<std::vector<Value>>& rows,
              std::vector<NodeId>& values) {
  for (std::size_t i = 1 + loop.carried.size(); i < rows.size(); ++i) {
    const bool is_used = at.uses_output(i - 1);
    if (is_used && rows[i].empty()) at.unsupported("a sequence in a loop without iterations");
    values.push_back(is_used ? NodeId(stack(at, rows[i], 0)) : loop.condition);
  }
}

}  // namespace

void GraphImporter::define_sequences(const onnx::NodeProto& node, const Sequences& sequences) {
  for (const auto& [i, sequence] : sequences) {
    const auto output = static_cast<int>(i);
    if (output < node.output_size() && !node.output(output).empty()) {
      scope_->sequences[node.output(output)] = sequence;
    }
  }
}

// One call of the body for each element of the first sequence; inputs that are tensors are the same
// for all.
std::vector<NodeId> GraphImporter::import_sequence_map(const onnx::NodeProto& node) {
  Node at(builder_, *scope_, model_, node, location_of(node));
  const onnx::GraphProto& graph = at.graph_attr("body");
  const std::size_t count = at.sequence(0).elements.size();
  if (static_cast<std::size_t>(graph.input_size()) != at.num_inputs()) {
    at.invalid(Code::kBadOnnxGraph, "its inputs are not those of its body");
  }
  Sequences results;
  for (int i = 0; i < node.output_size(); ++i) results[static_cast<std::size_t>(i)] = {};
  for (std::size_t k = 0; k < count; ++k) {
    builder_.count_node();
    Scope body = scope_->inner(std::get<ModelNode>(at.location()->place).node);
    body.outer = scope_;
    for (std::size_t i = 0; i < at.num_inputs(); ++i) {
      const bool is_sequence = at.is_sequence(i);
      if (is_sequence && at.sequence(i).elements.size() != count) {
        at.invalid(Code::kShapeMismatch, "its sequences differ in length");
      }
      body.values[graph.input(static_cast<int>(i)).name()] =
          is_sequence ? at.sequence(i).elements[k] : at.input(i);
    }
    const std::vector<NodeId> made = import_graph(graph, body);
    if (made.size() != results.size()) return {};
    for (std::size_t i = 0; i < made.size(); ++i) results[i].elements.push_back(made[i]);
  }
  at.check_all_was_read();
  define_sequences(node, results);
  return std::vector<NodeId>(results.size());
}

bool GraphImporter::has_sequences(const Node& at, const onnx::GraphProto& body) const {
  for (std::size_t i = 0; i < at.num_inputs(); ++i) {
    if (at.is_sequence(i)) return true;
  }
  for (const std::string& name : free_names(body)) {
    if (scope_->find_sequence(name) != nullptr) return true;
  }
  return false;
}

std::vector<NodeId> GraphImporter::import_unrolled(Node& at, const Loop& loop) {
  if (!loop.count || loop.tests_condition) {
    at.unsupported("a sequence in a loop whose number of iterations is known at run time only");
  }
  const std::size_t carried = loop.carried.size();
  std::vector<NodeId> values;
  Sequences sequences;
  for (std::size_t i = 0; i < carried; ++i) {
    values.push_back(loop.carried[i].value);
    if (at.is_sequence(i + 2)) sequences[i] = at.sequence(i + 2);
  }
  at.check_all_was_read();
  std::vector<std::vector<Value>> rows(static_cast<std::size_t>(loop.graph->output_size()));
  for (std::int64_t k = 0; k < *loop.count; ++k) {
    builder_.count_node();
    Scope body = scope_->inner(std::get<ModelNode>(at.location()->place).node);
    body.outer = scope_;
    body.values[loop.iteration_name] = builder_.constant(Tensor::scalar(k, kInt64));
    body.values[loop.condition_name] = loop.condition;
    for (std::size_t i = 0; i < carried; ++i) {
      bind(body, loop.carried[i].name, values[i], find(sequences, i));
    }
    Sequences given;
    const std::vector<NodeId> made = import_graph(*loop.graph, body, &given);
    if (made.size() != rows.size()) return {};
    if (!is_true(at, made[0])) at.unsupported("a sequence in a loop that its body may end");
    if (!given.empty() && given.rbegin()->first > carried) {
      at.unsupported("a sequence of sequences");
    }
    sequences.clear();
    for (std::size_t i = 0; i < carried; ++i) {
      values[i] = made[1 + i];
      if (const Sequence* s = find(given, 1 + i)) sequences[i] = *s;
    }
    for (std::size_t i = 1 + carried; i < made.size(); ++i) rows[i].emplace_back(at, made[i]);
  }
  builder_.at(at.location());
  define_sequences(at.proto(), sequences);
  add_rows(at, loop, rows, values);
  return values;
}

}  // namespace tessera::import
