// SPDX-License-Identifier: Apache-2.0
#include "backends/cudnn/compiler/graph.h"

#include <numeric>

#include <fmt/format.h>

namespace tessera::backends::cudnn {
namespace {

using byoc::JsonGraphWriter;
using Entry = JsonGraphWriter::Entry;

std::vector<std::string> texts(const std::vector<std::int64_t>& numbers) {
  std::vector<std::string> out;
  for (const std::int64_t n : numbers) out.push_back(std::to_string(n));
  return out;
}

Type type_of(const View& view, DType dtype) {
  return tensor_type(Shape(view.dims.begin(), view.dims.end()), dtype);
}

void set_tensor(JsonGraphWriter& writer, Entry entry, const View& view, std::size_t id) {
  writer.set(entry.node, "tensor_dims", texts(view.dims));
  writer.set(entry.node, "tensor_strides", texts(view.strides));
  writer.set(entry.node, "tensor_id", {std::to_string(id)});
}

// What is said of all of the graph stands beside the operation that gives the result.
void set_options(JsonGraphWriter& writer, Entry last, const Region& region) {
  if (region.multiplies_tf32()) writer.set(last.node, "tf32", {"1"});
  if (region.runtime_engines) writer.set(last.node, "runtime_engines", {"1"});
}

void set_plan(JsonGraphWriter& writer, Entry last, const StoredPlan& plan) {
  writer.set(last.node, "cudnn_version", {std::to_string(plan.version)});
  writer.set(last.node, "plan", {plan.text});
  writer.set(last.node, "configuration", {plan.configuration});
  writer.set(last.node, "workspace_bytes", {std::to_string(plan.workspace_bytes)});
}

}  // namespace

std::string graph_text(const Region& region, const std::vector<std::size_t>& order,
                       const StoredPlan* plan) {
  JsonGraphWriter writer;
  std::vector<Entry> tensors(region.operands.size());
  for (const std::size_t i : order) {
    const Operand& operand = region.operands[i];
    tensors[i] = writer.input(fmt::format("input_{}", i), type_of(operand.view, operand.dtype));
    if (!operand.view.dims.empty()) set_tensor(writer, tensors[i], operand.view, i);
  }
  for (const Operation& operation : region.operations) {
    std::vector<Entry> inputs;
    for (const std::size_t i : operation.inputs) inputs.push_back(tensors[i]);
    tensors.push_back(writer.kernel(operation.name, std::move(inputs), operation.attributes,
                                    {type_of(operation.view, operation.dtype)}));
    set_tensor(writer, tensors.back(), operation.view, tensors.size() - 1);
  }
  set_options(writer, tensors.back(), region);
  if (plan != nullptr) set_plan(writer, tensors.back(), *plan);
  return writer.text({tensors.back()});
}

std::string graph_text(const Region& region) {
  std::vector<std::size_t> order(region.operands.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  return graph_text(region, order);
}

}  // namespace tessera::backends::cudnn
