// SPDX-License-Identifier: Apache-2.0
#include "backends/ccompiler/ccompiler.h"

#include <map>
#include <span>

#include "byoc/function_at_a_time.h"
#include "relay/rewrite.h"

namespace tessera::backends {
namespace ccompiler {
namespace {

using byoc::CompileContext;
using byoc::CompileOutcome;
using byoc::CompositePattern;
using byoc::Refusal;
using relay::Function;
using relay::Match;
using relay::NodeId;

constexpr std::string_view kName = "ccompiler";

// An operator, and one element of its result; {0} and {1} are elements of the operands.
struct Formula {
  const char* op;
  int operands;
  Literal text;
};
constexpr Formula kFormulas[] = {
    {"add", 2, "{0} + {1}"},
    {"subtract", 2, "{0} - {1}"},
    {"multiply", 2, "{0} * {1}"},
    {"divide", 2, "{0} / {1}"},
    {"negative", 1, "-{0}"},
    {"abs", 1, "std::fabs({0})"},
    {"sqrt", 1, "std::sqrt({0})"},
    {"nn.relu", 1, "{0} < 0.0f ? 0.0f : {0}"},
    {"sigmoid", 1, "1.0f / (1.0f + std::exp(-{0}))"},
};

const Formula* find_formula(std::string_view op) {
  for (const Formula& f : kFormulas) {
    if (f.op == op) return &f;
  }
  return nullptr;
}

// ---- What the back end takes -------------------------------------------------------------------

std::optional<Refusal> check_call(const Function& f, NodeId call) {
  const Type& result = f.type(call);
  if (result.dtype() != kFloat32) {
    return Refusal{fmt::format("data type {} is not float32", to_string(result.dtype()))};
  }
  for (const Dim& d : result.shape()) {
    if (d.is_unknown()) return Refusal{"a size is not known"};
  }
  for (const NodeId operand : f.operands(call)) {
    if (f.type(operand) != result) return Refusal{"an operand is broadcast"};
  }
  return std::nullopt;
}

std::optional<Refusal> check(const Match& match, const Target&) {
  return check_call(*match.function, match.root);
}

// Any graph of the operators that there is a formula for.
std::optional<Refusal> check_composite(const Function& composite) {
  for (std::size_t i = 0; i < composite.num_nodes(); ++i) {
    const NodeId id(i);
    if (composite.as<relay::Param>(id) != nullptr) continue;
    const relay::Operator* op = composite.op(id);
    if (op == nullptr) return Refusal{"it has more in it than operators of its parameters"};
    if (find_formula(op->name) == nullptr) {
      return Refusal{fmt::format("it has no formula for `{}`", op->name)};
    }
    if (auto why = check_call(composite, id)) return why;
  }
  return std::nullopt;
}

std::vector<CompositePattern> make_patterns() {
  std::vector<CompositePattern> out;
  for (const Formula& formula : kFormulas) {
    std::vector<relay::Pattern> operands;
    for (int i = 0; i < formula.operands; ++i) operands.push_back(relay::wildcard());
    const std::string op = formula.op;
    out.push_back({fmt::format("{}.{}", kName, op.substr(op.rfind('.') + 1)),
                   relay::is_op(op, std::move(operands)), check});
  }
  return out;
}

// ---- What it makes of it -----------------------------------------------------------------------

std::string operators_text(const Function& region, std::span<const NodeId> nodes) {
  std::string text;
  for (const NodeId id : nodes) {
    if (const relay::Operator* op = region.op(id)) {
      text += fmt::format("{}{}", text.empty() ? "" : ", ", op->name);
    }
  }
  return text;
}

// The statements that compute element `i`: a variable for each operator, and the result.
Source statements_of(const Function& region, const relay::Region& body,
                     std::span<const NodeId> nodes) {
  std::map<NodeId, Source> element;
  for (std::size_t i = 0; i < body.params.size(); ++i) {
    element[body.params[i]] = source("x{}[i]", i);
  }
  Source out;
  for (const NodeId id : nodes) {
    const relay::Operator* op = region.op(id);
    if (op == nullptr) continue;
    const auto operands = region.operands(id);
    const Source value = source_in(find_formula(op->name)->text, element.at(operands.front()),
                                   element.at(operands.back()));
    if (id == body.result) return out + source("    y[i] = {};\n", value);
    element[id] = source("t{}", element.size());
    out += source("    const float {} = {};\n", element[id], value);
  }
  return out;
}

// A region is one call of one composite; an operand that occurs twice is passed once.
Source source_of(const std::string& symbol, const Function& region) {
  const auto call = region.operands(region.result());
  const relay::RegionId body_id = region.as<relay::Literal>(call[0])->body;
  const relay::Region& body = region.region(body_id);
  const std::vector<NodeId> nodes = relay::nodes_within(region, body_id);
  const Type& type = region.type(region.result());
  const auto known = num_elements(type.shape()).as_constant();

  Source out =
      source("// {}: {}\n", c_comment(operators_text(region, nodes)), c_comment(to_string(type)));
  out += source("int32_t {}(const tessera_call*, tessera_tensor** tensors, int32_t) {{\n",
                c_name(symbol));
  for (std::size_t i = 0; i < body.params.size(); ++i) {
    out += source("  const float* x{} = data<const float>(tensors[{}]);\n", i,
                  byoc::argument_position(region, body.params[i]));
  }
  out += source("  float* y = data<float>(tensors[{}]);\n", region.params().size());
  const Source count =
      known ? source("{}", *known) : source("elements(tensors[{}])", region.params().size());
  out += source("  const int64_t count = {};\n", count);
  out += source("  for (int64_t i = 0; i < count; ++i) {{\n{}  }}\n",
                statements_of(region, body, nodes));
  return out + "  return 0;\n}\n";
}

// What the user gives as C++ is C++: no file of a model has targets.
Source prologue(const Target& target) {
  const std::string& header = target.get_string("header");
  return (header.empty() ? Source() : Source::trusted(header + "\n")) +
         "#include <cmath>\n"
         "#include \"tessera/call.h\"\n\n"
         "template <class T>\n"
         "static T* data(const tessera_tensor* t) {\n"
         "  return reinterpret_cast<T*>(static_cast<char*>(t->data) + t->byte_offset);\n"
         "}\n"
         "[[maybe_unused]] static int64_t elements(const tessera_tensor* t) {\n"
         "  int64_t count = 1;\n"
         "  for (int32_t d = 0; d < t->ndim; ++d) count *= t->shape[d];\n"
         "  return count;\n"
         "}\n";
}

class Ccompiler final : public byoc::Backend {
 public:
  std::string_view name() const override { return kName; }
  std::optional<Target> default_target(const Target&) const override { return std::nullopt; }

  std::vector<CompositePattern> patterns(const Target&) const override { return make_patterns(); }
  std::optional<Refusal> refuses_composite(const Function& composite,
                                           const Target&) const override {
    return check_composite(composite);
  }

  // It computes none itself; how layouts become part of a plan can be seen by it.
  std::vector<std::string> layouts(const Target& target) const override {
    const std::string& layout = target.get_string("layout");
    return layout.empty() ? std::vector<std::string>() : std::vector{layout};
  }

  Result<CompileOutcome> compile(Module module, const Target& target,
                                 CompileContext& context) const override {
    Artifact artifact;
    artifact.kind = ArtifactKind::kStaticLibrary;
    artifact.backend = kName;
    artifact.compile_flags = {"-std=c++20", "-O2"};
    const auto emit = [](const std::string& symbol, const Function& region,
                         const ConstantPool&) -> Expected<Source, Refusal> {
      return source_of(symbol, region);
    };
    return byoc::compile_function_at_a_time(std::move(module), std::move(artifact),
                                            prologue(target), emit, context);
  }
};

}  // namespace
}  // namespace ccompiler

const byoc::Backend& ccompiler_backend() {
  static const ccompiler::Ccompiler backend;
  return backend;
}

}  // namespace tessera::backends
