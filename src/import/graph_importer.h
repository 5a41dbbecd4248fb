// SPDX-License-Identifier: Apache-2.0
// One ONNX graph as a function: names, order, types, and what could not be converted.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "import/call_builder.h"
#include "import/dim_names.h"
#include "import/import_onnx.h"
#include "import/node.h"
#include "import/onnx_model.h"
#include "import/scope.h"
#include "module/module.h"

namespace tessera::import {

struct Loop;

class GraphImporter {
 public:
  GraphImporter(const OnnxModel& model, const ImportOptions& options);

  // The module with `main`; all errors of the graph together.
  Result<Module> run();
  // Those that it came to, in order; of a body that is imported several times, several times.
  std::vector<OnnxNode> take_nodes() { return std::move(nodes_); }

 private:
  using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

  // ---- Inputs (import_inputs.cc) ----
  void import_symbols();
  void import_initializers(const onnx::GraphProto& graph);
  // Those of the model's graph that stay parameters, after its inputs.
  void import_kept_weights();
  bool is_kept(const onnx::TensorProto& t) const;
  void import_inputs();
  void import_input(const onnx::ValueInfoProto& value);
  Dim import_dim(const onnx::TensorShapeProto::Dimension& dim, const std::string& input);
  Dim fresh_symbol(const std::string& hint);
  void read_declarations();

  // ---- Nodes ----
  void import_nodes(const Nodes& nodes);
  void import_node(const onnx::NodeProto& node);
  void report_unknown(const onnx::NodeProto& node, const Location& at);
  bool is_known(const onnx::NodeProto& node) const;
  bool check_inputs(const onnx::NodeProto& node);
  // Reports the use of a value of strings; false for any other.
  bool report_strings(const std::string& name, const Location& at);
  std::vector<NodeId> convert(const onnx::NodeProto& node);
  bool has_operator(const onnx::NodeProto& node) const;
  std::vector<NodeId> convert_operator(Node& node);
  void check_attributes(const onnx::NodeProto& node);
  void define_outputs(const onnx::NodeProto& node, const std::vector<NodeId>& outputs);
  void define(const std::string& name, NodeId id, const Location& at);
  void check_declaration(const onnx::ValueInfoProto& output, const Type& type);
  NodeId import_outputs(std::vector<relay::AttrValue>& names);
  Location location_of(const onnx::NodeProto& node) const;

  // ---- Sequences (import_sequences.cc) ----
  // Results of a body by their numbers, whose ids are invalid.
  using Sequences = std::map<std::size_t, Sequence>;
  void define_sequences(const onnx::NodeProto& node, const Sequences& sequences);
  std::vector<NodeId> import_sequence_map(const onnx::NodeProto& node);
  // Does a loop carry a sequence, or its body read one?
  bool has_sequences(const Node& at, const onnx::GraphProto& body) const;
  // The body once for each iteration.
  std::vector<NodeId> import_unrolled(Node& at, const Loop& loop);

  // ---- Bodies in place of a node (import_bodies.cc) ----
  // A call of a function of the model: its body, or the operator that it stands for.
  std::vector<NodeId> convert_call(Node& node, const onnx::FunctionProto& f);
  bool is_vendors(const onnx::NodeProto& node) const;
  std::vector<NodeId> inline_function(const onnx::NodeProto& call, const onnx::FunctionProto& f);
  // Reports what is not supported in the bodies of a node that is passed over itself.
  void look_into_bodies(const onnx::NodeProto& node);
  template <class Names>
  std::vector<NodeId> results_of(Scope& body, const Names& outputs, Sequences* sequences);

  // ---- Control flow (import_branches.cc, import_loops.cc) ----
  // The branch taken where the condition is known, else an `if`.
  std::vector<NodeId> import_if(const onnx::NodeProto& node);
  void end_branches(NodeId condition, const relay::RegionId (&regions)[2],
                    std::vector<NodeId> (&results)[2]);
  void import_nodes_of(const onnx::GraphProto& graph, Scope& body);
  // The graph's results, as nodes where the builder stands; fewer after an error.
  // Where `sequences` is null a result must be a tensor.
  std::vector<NodeId> import_graph(const onnx::GraphProto& graph, Scope& body,
                                   Sequences* sequences = nullptr);
  std::vector<NodeId> results_of_graph(const onnx::GraphProto& graph, Scope& body,
                                       Sequences* sequences);
  // A call of a global function that calls itself (import/loop.h).
  std::vector<NodeId> import_loop(const onnx::NodeProto& node);
  std::vector<NodeId> import_scan(const onnx::NodeProto& node);
  // What the loop gives; nothing after an error that has been reported.
  std::vector<NodeId> make_loop(Node& at, Loop& loop);
  bool define_body(Node& at, Loop& loop);
  void define_captured(Loop& loop, Scope& body, std::vector<Tensor>& known);
  bool generalise_carried(const Node& at, Loop& loop) const;
  // The rows with another one; the first alone where only it tells how large they are.
  NodeId with_row(const Loop& loop, std::size_t scan, NodeId rows, NodeId row, NodeId iteration);
  NodeId first_rows(const Loop& loop, std::size_t scan);
  NodeId run_time_rows(const Loop& loop, const Shape& row);
  void size_scans(Loop& loop) const;
  relay::Function loop_function(const Loop& loop, const std::string& name);
  NodeId goes_on(const Loop& loop, std::span<const NodeId> params);
  NodeId row_index(NodeId iteration, NodeId rows, bool backward);
  NodeId length_of(Node& at, NodeId value, std::int64_t axis);
  NodeId call(std::string_view op, std::initializer_list<NodeId> args, Attrs attrs = {});

  const OnnxModel& model_;
  const ImportOptions& options_;
  DimNames dim_names_;
  const SymbolTable ranges_;
  CallBuilder builder_;
  std::vector<const onnx::TensorProto*> kept_;  // initializers that stay parameters
  std::set<std::string> kept_names_;            // theirs
  SymbolTable symbols_;
  Scope main_;
  Scope* scope_ = &main_;
  int depth_ = 0;         // of bodies in place of nodes
  bool gave_up_ = false;  // at a limit: nothing more is imported
  Diagnostics errors_;
  std::vector<OnnxNode> nodes_;
};

}  // namespace tessera::import
