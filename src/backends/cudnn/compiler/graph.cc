// SPDX-License-Identifier: Apache-2.0
#include "backends/cudnn/compiler/graph.h"

#include <numeric>

#include <fmt/format.h>

namespace tessera::backends::cudnn {
namespace {

using byoc::JsonGraphWriter;
using Entry = JsonGraphWriter::Entry;
using Attributes = JsonGraphWriter::Attributes;

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

std::vector<std::string> of_window(const ops::Window& window,
                                   std::int64_t ops::WindowAxis::*member) {
  std::vector<std::int64_t> out;
  for (const ops::WindowAxis& axis : window) out.push_back(axis.*member);
  return texts(out);
}

Attributes attributes_of(const Convolution& c) {
  Attributes out = {{"padding_begin", of_window(c.window, &ops::WindowAxis::pad_begin)},
                    {"padding_end", of_window(c.window, &ops::WindowAxis::pad_end)},
                    {"strides", of_window(c.window, &ops::WindowAxis::stride)},
                    {"dilation", of_window(c.window, &ops::WindowAxis::dilation)}};
  if (c.tf32 && c.dtype == kFloat32) out["tf32"] = {"1"};
  if (c.runtime_engines) out["runtime_engines"] = {"1"};
  return out;
}

Attributes attributes_of(const Step& step) {
  Attributes out = {{"mode", {step.mode}}};
  for (const auto& [name, value] : step.numbers) out[name] = {fmt::format("{}", value)};
  return out;
}

void set_plan(JsonGraphWriter& writer, Entry convolution, const StoredPlan& plan) {
  writer.set(convolution.node, "cudnn_version", {std::to_string(plan.version)});
  writer.set(convolution.node, "plan", {plan.text});
  writer.set(convolution.node, "configuration", {plan.configuration});
  writer.set(convolution.node, "workspace_bytes", {std::to_string(plan.workspace_bytes)});
}

}  // namespace

std::string graph_text(const Convolution& c, const std::vector<std::size_t>& order,
                       const StoredPlan* plan) {
  JsonGraphWriter writer;
  std::vector<Entry> operands(c.operands.size());
  for (const std::size_t i : order) {
    const Operand& operand = c.operands[i];
    operands[i] = writer.input(fmt::format("input_{}", i), type_of(operand.view, operand.dtype));
    set_tensor(writer, operands[i], operand.view, i);
  }
  std::size_t id = c.operands.size();
  const auto dtype_after = [&](std::size_t steps) {
    return steps == c.steps.size() ? c.dtype : kFloat32;
  };
  Entry last = writer.kernel("convolution", {operands[0], operands[1]}, attributes_of(c),
                             {type_of(c.result, dtype_after(0))});
  set_tensor(writer, last, c.result, id++);
  if (plan != nullptr) set_plan(writer, last, *plan);
  for (std::size_t i = 0; i < c.steps.size(); ++i) {
    std::vector<Entry> inputs = {last};
    if (c.steps[i].operand) inputs.push_back(operands[*c.steps[i].operand]);
    last = writer.kernel("pointwise", std::move(inputs), attributes_of(c.steps[i]),
                         {type_of(c.result, dtype_after(i + 1))});
    set_tensor(writer, last, c.result, id++);
  }
  return writer.text({last});
}

std::string graph_text(const Convolution& convolution) {
  std::vector<std::size_t> order(convolution.operands.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  return graph_text(convolution, order);
}

}  // namespace tessera::backends::cudnn
