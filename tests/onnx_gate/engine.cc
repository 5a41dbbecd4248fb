// SPDX-License-Identifier: Apache-2.0
#include "tests/onnx_gate/engine.h"

#include "import/import_onnx.h"
#include "support/check.h"
#include "tests/onnx_gate/evaluate_graph.h"

namespace tessera::onnx_gate {
namespace {

Failure refusal(const Diagnostics& errors) {
  const Diagnostic& first = errors.list.front();
  return {std::string(code_text(first.code)), first.message.substr(0, first.message.find('\n'))};
}

std::optional<Failure> failure_of(const DataSet& set, const Runnable& model) {
  const auto results = model.run(in_order(set.inputs, model.inputs));
  if (!results) return refusal(results.error());
  const std::vector<Tensor> expected = in_order(set.outputs, model.outputs);
  if (results->size() != expected.size()) {
    return Failure{"wrong",
                   fmt::format("{} results instead of {}", results->size(), expected.size())};
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (const auto what = difference((*results)[i], expected[i])) {
      return Failure{"wrong", fmt::format("result `{}` {}", model.outputs[i].name, *what)};
    }
  }
  return std::nullopt;
}

std::optional<Failure> failure_unguarded(const Case& c, const Engine& engine) {
  const auto model = engine(c);
  if (!model) return refusal(model.error());
  const auto sets = read_data_sets(c);
  if (!sets) return Failure{"data", refusal(sets.error()).reason};
  if (sets->empty()) return Failure{"data", "it has no data set"};
  for (const DataSet& set : *sets) {
    if (const auto what = failure_of(set, *model)) return what;
  }
  return std::nullopt;
}

}  // namespace

Result<Runnable> evaluated(const Case& c) {
  TESSERA_TRY(Module imported, import::import_onnx(c.model()));
  const auto module = std::make_shared<const Module>(std::move(imported));
  const relay::Function& main = module->functions.at("main");
  Runnable r;
  for (const relay::NodeId p : main.params()) {
    r.inputs.push_back({main.as<relay::Param>(p)->name, main.type(p).dtype()});
  }
  const auto& names = *main.attrs.find("output_names")->as<relay::AttrArray>();
  const std::vector<Type> types = flatten(main.type(main.result()));
  for (std::size_t i = 0; i < names.size(); ++i) {
    r.outputs.push_back({*names[i].as<std::string>(), types[i].dtype()});
  }
  r.run = [module](const std::vector<Tensor>& inputs) { return evaluate_graph(*module, inputs); };
  return r;
}

std::optional<Failure> failure(const Case& c, const Engine& engine) {
  try {
    return failure_unguarded(c, engine);
  } catch (const std::exception& e) {
    const std::string text = e.what();
    return Failure{"internal error", text.substr(0, text.find('\n'))};
  }
}

}  // namespace tessera::onnx_gate
