// SPDX-License-Identifier: Apache-2.0
// GELU that exporters write as what it is made of becomes one call, which computes in float32
// inside whatever its type. In parts, some of it would be float32 by rule, and all after them with
// it.
#include <optional>

#include "passes/pass.h"
#include "passes/regions.h"
#include "relay/patterns/gelu.h"
#include "relay/patterns/matcher.h"
#include "relay/rewrite.h"

namespace tessera::passes {
namespace {

using relay::Copier;
using relay::Function;
using relay::NodeId;

// How GELU is written, and what it becomes.
struct GeluForm {
  std::string_view op;
  relay::Pattern pattern;
  Expected<NodeId, relay::Refusal> (*input)(const relay::Match&);
};

std::vector<GeluForm> gelu_forms() {
  const relay::Pattern x = relay::wildcard();
  return {{"nn.gelu", relay::erf_gelu(x), relay::input_of_erf_gelu},
          {"nn.gelu_tanh", relay::tanh_gelu(x), relay::input_of_tanh_gelu}};
}

class GeluRecognizer {
 public:
  GeluRecognizer(const Function& f, const ConstantPool& pool, const relay::OperatorTable& operators)
      : f_(f), pool_(pool), operators_(operators), closed_(closed_bodies(f)), graph_(f) {}

  Function run() const {
    return relay::rewrite(f_, [&](Copier& c, NodeId id) { return visit(c, id); });
  }

 private:
  std::optional<NodeId> visit(Copier& c, NodeId id) const {
    if (!relay::is_call_of(f_, id, "multiply") || closed_[f_[id].region.index()]) {
      return std::nullopt;
    }
    for (const GeluForm& form : forms_) {
      const auto match = relay::match(graph_, form.pattern, id, &pool_);
      if (!match) continue;
      const auto input = form.input(*match);
      if (!input || f_.type(*input) != f_.type(id)) continue;
      const NodeId call = c.builder().call(*operators_.find(form.op), {c.map(*input)});
      c.builder().set_type(call, f_.type(id));
      return call;
    }
    return std::nullopt;
  }

  const Function& f_;
  const ConstantPool& pool_;
  const relay::OperatorTable& operators_;
  const std::vector<relay::RegionId> closed_;  // by region
  const relay::IndexedGraph graph_;
  const std::vector<GeluForm> forms_ = gelu_forms();
};

Result<Module> run_recognize_gelu(Module module, PassContext& context) {
  return map_optimizable(std::move(module), [&](const Function& f, const ConstantPool& pool) {
    return GeluRecognizer(f, pool, context.operators).run();
  });
}

}  // namespace

extern const Pass recognize_gelu;
const Pass recognize_gelu{
    .name = "recognize-gelu",
    .summary = "makes nn.gelu and nn.gelu_tanh of what they are made of",
    .run = run_recognize_gelu,
};

}  // namespace tessera::passes
