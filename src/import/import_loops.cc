// SPDX-License-Identifier: Apache-2.0
// Loops as functions that call themselves.
#include <fmt/format.h>

#include "import/free_names.h"
#include "import/graph_importer.h"
#include "import/loop.h"
#include "ops/records/table.h"

namespace tessera::import {
namespace {

Tensor number(std::int64_t value) { return Tensor::of<std::int64_t>({}, kInt64, {value}); }

// All rows of a scan output.
Shape scan_shape(const Loop::ScanOutput& scan, const Dim& rows) {
  Shape shape = scan.row_shape;
  shape.insert(shape.begin(), rows);
  return shape;
}

bool is_unknown(const Dim& d) { return d.is_unknown(); }

// How many rows there are: as many as iterations, where that is known; else as many as the model
// says, or they grow. With a trip count that comes at run time and nothing else to end the loop,
// memory for all rows is there from the beginning.
void size_rows(const Loop& loop, const Type* declared, Loop::ScanOutput& scan) {
  if (loop.count && !loop.limit && !loop.tests_condition) {
    scan.rows = Dim(*loop.count);
  } else if (declared != nullptr && declared->rank() > 0 && declared->shape()[0].is_constant()) {
    scan.rows = declared->shape()[0];
  } else if (loop.limit && !loop.count && !loop.tests_condition) {
    scan.rows = loop.trips;
  } else {
    scan.rows = Dim::unknown();
    scan.grows = true;
  }
}

// A size of a row that the body leaves open is the one that the model says, or that of the first
// row: then there is no memory for others before there is a row.
void size_row(const Type& row, const Type* declared, Loop::ScanOutput& scan) {
  scan.row_shape = row.shape();
  for (std::size_t d = 0; d < row.rank(); ++d) {
    Dim& size = scan.row_shape[d];
    if (is_unknown(size) && declared != nullptr && declared->rank() == row.rank() + 1) {
      size = declared->shape()[d + 1];
    }
  }
  if (scan.has_open_row()) {
    scan.rows = Dim::unknown();
    scan.grows = true;
  }
}

}  // namespace

NodeId GraphImporter::call(std::string_view op, std::initializer_list<NodeId> args, Attrs attrs) {
  return builder_.call(*ops::operators().find(op), std::span(args.begin(), args.size()),
                       std::move(attrs));
}

// The number of an iteration, or that of its mirror image from the end.
NodeId GraphImporter::row_index(NodeId iteration, NodeId rows, bool backward) {
  if (!backward) return iteration;
  const NodeId last = call("subtract", {rows, builder_.constant(number(1))});
  return call("subtract", {last, iteration});
}

// What the body reads from around becomes parameters; what is known there stays known inside.
void GraphImporter::define_captured(Loop& loop, Scope& body, std::vector<Tensor>& known) {
  for (const std::string& name : free_names(*loop.graph)) {
    const NodeId* value = scope_->find(name);
    if (const int narrow = scope_->narrow_type(name)) body.narrow[name] = narrow;
    if (value == nullptr) {
      if (scope_->has_failed(name)) body.failed.insert(name);
    } else if (const Tensor* tensor = builder_.constant_of(*value)) {
      body.values.emplace(name, NodeId(known.size()));
      known.push_back(*tensor);
    } else {
      loop.captured.push_back({name, *value});
    }
  }
}

// The function `body`; false if an error inside of it has been reported.
bool GraphImporter::define_body(Node& at, Loop& loop) {
  Scope body = scope_->inner(std::get<ModelNode>(at.location()->place).node);
  std::vector<Tensor> known;
  define_captured(loop, body, known);
  std::vector<std::pair<std::string, Type>> params;
  for (std::size_t i = 0; i < loop.carried.size(); ++i) {
    params.emplace_back(loop.carried[i].name, loop.carried_types[i]);
  }
  for (const Loop::Named& v : loop.captured) params.emplace_back(v.name, at.type(v.value));
  builder_.at(at.location());
  builder_.begin_function();
  for (auto& [name, value] : body.values) value = builder_.constant(known[value.index()]);
  const NodeId iteration = builder_.param("iteration", tensor_type({}, kInt64));
  const NodeId condition = builder_.param("condition", tensor_type({}, kBool));
  body.values.emplace(loop.iteration_name, iteration);
  body.values.emplace(loop.condition_name, condition);
  std::vector<NodeId> made;
  for (const auto& [name, type] : params) {
    made.push_back(builder_.param(name.empty() ? "outer" : name, type));
    body.values.emplace(name, made.back());
  }
  for (const Loop::Slice& s : loop.slices) {
    const NodeId length = loop.count ? builder_.constant(number(*loop.count))
                                     : made[loop.carried.size() + *loop.limit];
    const NodeId index = row_index(iteration, length, s.backward);
    body.values.emplace(
        s.name, call("take", {made[loop.carried.size() + s.captured], index}, {{"axis", s.axis}}));
  }
  std::vector<NodeId> results = import_graph(*loop.graph, body);
  const bool complete = results.size() == static_cast<std::size_t>(loop.graph->output_size());
  builder_.at(at.location());
  if (!complete || !loop.returns_condition) {
    results.insert(results.begin(), condition);
  } else {
    results[0] = at.scalar_of(results[0], kBool, "the condition that its body returns");
    const Tensor* constant = builder_.constant_of(results[0]);
    const bool holds = constant != nullptr && element_as_int(*constant, 0) != 0;
    loop.tests_condition |= results[0] != condition && !holds;
  }
  loop.body = builder_.end_function(builder_.tuple(results));
  return complete;
}

// Does another iteration follow?
NodeId GraphImporter::goes_on(const Loop& loop, std::span<const NodeId> params) {
  NodeId all;
  const auto add = [&](NodeId test) { all = all ? call("logical_and", {all, test}) : test; };
  if (loop.limit) {
    add(call("less", {params[0], params[2 + loop.carried.size() + *loop.limit]}));
  }
  if (loop.count) add(call("less", {params[0], builder_.constant(number(*loop.count))}));
  if (loop.tests_condition || !all) add(params[1]);
  return all;
}

relay::Function GraphImporter::loop_function(const Loop& loop, const std::string& name) {
  const relay::Function& body = loop.body;
  const std::size_t carried = loop.carried.size();
  builder_.begin_function();
  std::vector<NodeId> params;
  for (const NodeId p : body.params()) {
    params.push_back(builder_.param(body.as<relay::Param>(p)->name, body.type(p)));
  }
  std::vector<NodeId> values;  // that the loop gives
  for (std::size_t i = 0; i < carried; ++i) values.push_back(params[2 + i]);
  for (const Loop::ScanOutput& s : loop.scans) {
    const DType dtype = body.type(body.result()).fields()[s.row].dtype();
    values.push_back(builder_.param(s.name, tensor_type(scan_shape(s, s.rows), dtype)));
  }
  std::vector<Type> types;
  for (const NodeId v : values) types.push_back(builder_.type(v));

  const NodeId test = goes_on(loop, params);
  const relay::RegionId again = builder_.begin_branch();
  const NodeId step = builder_.inline_function(body, params);
  std::vector<NodeId> next{call("add", {params[0], builder_.constant(number(1))})};
  for (std::size_t i = 0; i < 1 + carried; ++i) {
    next.push_back(builder_.project(step, static_cast<int>(i)));
  }
  next.insert(next.end(), params.begin() + static_cast<std::ptrdiff_t>(2 + carried), params.end());
  for (std::size_t i = 0; i < loop.scans.size(); ++i) {
    const Loop::ScanOutput& s = loop.scans[i];
    const NodeId row = builder_.project(step, static_cast<int>(s.row));
    if (s.grows) {
      next.push_back(with_row(loop, i, values[carried + i], row, params[0]));
    } else {
      const auto known = s.rows.as_constant();
      const NodeId rows = known || !loop.limit ? builder_.constant(number(known.value_or(0)))
                                               : params[2 + carried + *loop.limit];
      const NodeId index = row_index(params[0], rows, s.backward);
      next.push_back(call("update_row", {values[carried + i], row, index}));
    }
  }
  builder_.end_branch(
      builder_.call_global(name, next, types.size() == 1 ? types[0] : tuple_type(types)));
  const relay::RegionId done = builder_.begin_branch();
  builder_.end_branch(values.size() == 1 ? values[0] : builder_.tuple(values));
  return builder_.end_function(builder_.branch(test, again, done));
}

void GraphImporter::size_scans(Loop& loop) const {
  for (Loop::ScanOutput& s : loop.scans) {
    const Type* declared = scope_->declared_type(s.name);
    size_rows(loop, declared, s);
    size_row(loop.body.type(loop.body.result()).fields()[s.row], declared, s);
  }
  for (const Loop::ScanOutput& s : loop.scans) {
    if (const auto rows = s.rows.as_constant()) {
      loop.count = std::min(loop.count.value_or(*rows), *rows);
    }
  }
}

// Sizes of carried values that an iteration changes are `?` in the loop; true if there are new
// ones.
bool GraphImporter::generalise_carried(const Node& at, Loop& loop) const {
  const std::vector<Type>& results = loop.body.type(loop.body.result()).fields();
  bool changed = false;
  for (std::size_t i = 0; i < loop.carried.size(); ++i) {
    const Type &first = loop.carried_types[i], &then = results[1 + i];
    if (first == then) continue;
    if (auto type = type_in_loop(first, then)) {
      changed |= !(*type == first);
      loop.carried_types[i] = std::move(*type);
      continue;
    }
    throw NodeError{error(Code::kUnsupportedOnnxNode, at.location(),
                          "operator `{}`: `{}` is {} at first and {} after an iteration; values "
                          "that change their type or rank in a loop are not supported",
                          at.op_type(), loop.carried[i].name, to_string(first), to_string(then))
                        .with_remedy("export the model with values of one type in the loop")};
  }
  return changed;
}

NodeId GraphImporter::with_row(const Loop& loop, std::size_t i, NodeId rows, NodeId row,
                               NodeId iteration) {
  const Loop::ScanOutput& scan = loop.scans[i];
  const NodeId one = call("expand_dims", {row}, {{"axis", 0}});
  const auto both = [&] {
    const NodeId parts[] = {scan.backward ? one : rows, scan.backward ? rows : one};
    return call("concatenate", {builder_.tuple(parts)}, {{"axis", 0}});
  };
  if (!scan.has_open_row()) return both();
  const NodeId is_first = call("equal", {iteration, builder_.constant(number(0))});
  relay::RegionId regions[2];
  std::vector<NodeId> results[2];
  for (int branch = 0; branch < 2; ++branch) {
    regions[branch] = builder_.begin_branch();
    results[branch] = {branch == 0 ? one : both()};
    builder_.end_branch(results[branch][0]);
  }
  end_branches(is_first, regions, results);
  return builder_.branch(is_first, regions[0], regions[1]);
}

// What a scan output is before the first iteration.
NodeId GraphImporter::first_rows(const Loop& loop, std::size_t i) {
  const Loop::ScanOutput& scan = loop.scans[i];
  const DType dtype = loop.body.type(loop.body.result()).fields()[scan.row].dtype();
  const bool has_size = scan.grows || !is_unknown(scan.rows);
  Shape shape = scan_shape(scan, scan.grows ? Dim(0) : scan.rows);
  if (scan.has_open_row()) std::replace_if(shape.begin(), shape.end(), is_unknown, Dim(0));
  if (const auto known = constant_shape(shape)) {
    return call("zeros", {}, {{"shape", *known}, {"dtype", dtype}});
  }
  const NodeId zero = call("zeros", {}, {{"shape", Ints{}}, {"dtype", dtype}});
  const auto zeros = [&](NodeId sizes) {
    return call("dyn.full", {zero, sizes}, {{"dtype", dtype}});
  };
  if (has_size) return zeros(builder_.sizes(shape));
  if (constant_shape(scan.row_shape)) return zeros(run_time_rows(loop, scan.row_shape));
  // No size of a list that data decide keeps its name: one row that has them is repeated.
  const NodeId places = call("dyn.full", {builder_.constant(number(0)), run_time_rows(loop, {})},
                             {{"dtype", kInt64}});
  return call("take", {zeros(builder_.sizes(scan_shape(scan, Dim(1)))), places}, {{"axis", 0}});
}

// As many rows as the trip count says.
NodeId GraphImporter::run_time_rows(const Loop& loop, const Shape& row) {
  const NodeId trips = loop.captured[*loop.limit].value;
  const NodeId count = call("maximum", {trips, builder_.constant(number(0))});
  const NodeId rows = call("reshape", {count}, {{"newshape", Ints{1}}});
  if (row.empty()) return rows;
  const NodeId parts[] = {rows, builder_.sizes(row)};
  return call("concatenate", {builder_.tuple(parts)}, {{"axis", 0}});
}

std::vector<NodeId> GraphImporter::make_loop(Node& at, Loop& loop) {
  for (const Loop::Named& v : loop.carried) loop.carried_types.push_back(at.type(v.value));
  const Loop fresh = loop;
  do {  // once a size that changes, at most
    const std::vector<Type> types = loop.carried_types;
    loop = fresh;
    loop.carried_types = types;
    if (!define_body(at, loop)) return {};
  } while (generalise_carried(at, loop));
  size_scans(loop);
  const std::string name = builder_.new_global();
  relay::Function f = loop_function(loop, name);
  std::vector<NodeId> args{builder_.constant(number(0)), loop.condition};
  for (const auto* list : {&loop.carried, &loop.captured}) {
    for (const Loop::Named& v : *list) args.push_back(v.value);
  }
  for (std::size_t i = 0; i < loop.scans.size(); ++i) args.push_back(first_rows(loop, i));
  const Type result = f.type(f.result());
  builder_.define_global(name, std::move(f));
  const NodeId value = builder_.call_global(name, args, result);
  if (!result.is_tuple()) return {value};
  std::vector<NodeId> outputs;
  for (std::size_t i = 0; i < result.fields().size(); ++i) {
    outputs.push_back(builder_.project(value, static_cast<int>(i)));
  }
  return outputs;
}

// A trip count and a condition, each of which may be left out, then what is carried.
std::vector<NodeId> GraphImporter::import_loop(const onnx::NodeProto& proto) {
  Node at(builder_, *scope_, model_, proto, location_of(proto));
  Loop loop;
  loop.graph = &at.graph_attr("body");
  const auto carried = static_cast<int>(std::max<std::size_t>(at.num_inputs(), 2) - 2);
  const int scans = loop.graph->output_size() - 1 - carried;
  if (loop.graph->input_size() != 2 + carried || scans < 0 ||
      proto.output_size() > carried + scans) {
    at.invalid(Code::kBadOnnxGraph,
               fmt::format("it has {} carried values and {} outputs, its body {} inputs and {} "
                           "outputs",
                           carried, proto.output_size(), loop.graph->input_size(),
                           loop.graph->output_size()));
  }
  loop.returns_condition = true;
  loop.iteration_name = loop.graph->input(0).name();
  loop.condition_name = loop.graph->input(1).name();
  loop.condition = at.has_input(1) ? at.scalar_of(at.input(1), kBool, "its condition")
                                   : builder_.constant(tensor_from_ints({}, kBool, Ints{1}));
  const auto condition = at.constant(loop.condition);
  loop.tests_condition = !condition || element_as_int(*condition, 0) == 0;
  if (at.has_input(0)) {
    const NodeId trips = at.scalar_of(at.input(0), kInt64, "its trip count");
    if (const auto known = at.constant(trips)) {
      loop.count = std::max<std::int64_t>(element_as_int(*known, 0), 0);
    } else {
      loop.limit = loop.captured.size();
      loop.captured.push_back({"", trips});
    }
  }
  const bool is_unrolled = has_sequences(at, *loop.graph);
  for (int i = 0; i < carried; ++i) {
    const auto k = static_cast<std::size_t>(i) + 2;
    const NodeId first = at.is_sequence(k) ? NodeId() : at.input(k);
    loop.carried.push_back({loop.graph->input(2 + i).name(), first});
  }
  for (int i = carried; i < proto.output_size(); ++i) {
    if (proto.output(i).empty()) continue;
    loop.scans.push_back({proto.output(i), static_cast<std::size_t>(1 + i)});
  }
  if (is_unrolled) return import_unrolled(at, loop);
  at.check_all_was_read();
  std::vector<NodeId> values = make_loop(at, loop);
  if (values.empty()) return {};
  std::vector<NodeId> outputs(values.begin(), values.begin() + carried);
  std::size_t next = static_cast<std::size_t>(carried);
  for (int i = carried; i < proto.output_size(); ++i) {
    outputs.push_back(proto.output(i).empty() ? loop.condition : values[next++]);
  }
  return outputs;
}

}  // namespace tessera::import
