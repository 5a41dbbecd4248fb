// SPDX-License-Identifier: Apache-2.0
#include "backends/ccompiler/ccompiler.h"

#include <algorithm>

#include "byoc/compiler_functions.h"

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
  const char* text;
};
constexpr Formula kFormulas[] = {
    {"add", 2, "{0} + {1}"},       {"subtract", 2, "{0} - {1}"},
    {"multiply", 2, "{0} * {1}"},  {"divide", 2, "{0} / {1}"},
    {"negative", 1, "-{0}"},       {"abs", 1, "std::fabs({0})"},
    {"sqrt", 1, "std::sqrt({0})"}, {"nn.relu", 1, "{0} < 0.0f ? 0.0f : {0}"},
};

const Formula* find_formula(std::string_view op) {
  for (const Formula& f : kFormulas) {
    if (f.op == op) return &f;
  }
  return nullptr;
}

// ---- What the back end takes -------------------------------------------------------------------

std::optional<Refusal> check(const Match& match, const Target&) {
  const Function& f = *match.function;
  const Type& result = f.type(match.root);
  if (result.dtype() != kFloat32) {
    return Refusal{fmt::format("data type {} is not float32", to_string(result.dtype()))};
  }
  if (!constant_shape(result.shape())) return Refusal{"a size is not known"};
  for (const NodeId operand : f.operands(match.root)) {
    if (f.type(operand) != result) return Refusal{"an operand is broadcast"};
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

// A region is one call of one composite of one operator; the arguments of each reach the next by
// position, except that an operand that occurs twice is passed once.
std::vector<std::size_t> argument_positions(const Function& region) {
  const auto call = region.operands(region.result());
  const relay::Region& body = region.region(region.as<relay::Literal>(call[0])->body);
  std::vector<std::size_t> out;
  for (const NodeId operand : region.operands(body.result)) {
    const auto param = std::find(body.params.begin(), body.params.end(), operand);
    const NodeId argument = call[static_cast<std::size_t>(param - body.params.begin()) + 1];
    const auto params = region.params();
    out.push_back(static_cast<std::size_t>(std::find(params.begin(), params.end(), argument) -
                                           params.begin()));
  }
  return out;
}

std::string source_of(const std::string& symbol, const Function& region) {
  const auto call = region.operands(region.result());
  const relay::Region& body = region.region(region.as<relay::Literal>(call[0])->body);
  const std::string_view op = region.op(body.result)->name;
  const Type& type = region.type(region.result());
  const std::int64_t count = num_elements(type.shape()).constant();

  std::string out = fmt::format("// {}: {}\n", op, to_string(type));
  out += fmt::format("int32_t {}(const tessera_call*, tessera_tensor** tensors, int32_t) {{\n",
                     symbol);
  const auto positions = argument_positions(region);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    out += fmt::format("  const float* x{} = data<const float>(tensors[{}]);\n", i, positions[i]);
  }
  out += fmt::format("  float* y = data<float>(tensors[{}]);\n", region.params().size());
  const std::string element = fmt::format(fmt::runtime(find_formula(op)->text), "x0[i]", "x1[i]");
  out += fmt::format("  for (int64_t i = 0; i < {}; ++i) y[i] = {};\n", count, element);
  return out + "  return 0;\n}\n\n";
}

std::string prologue(const Target& target) {
  const std::string& header = target.get_string("header");
  return (header.empty() ? "" : header + "\n") +
         "#include <cmath>\n"
         "#include \"tessera/call.h\"\n\n"
         "template <class T>\n"
         "static T* data(const tessera_tensor* t) {\n"
         "  return reinterpret_cast<T*>(static_cast<char*>(t->data) + t->byte_offset);\n"
         "}\n\n"
         "extern \"C\" {\n\n";
}

class Ccompiler final : public byoc::Backend {
 public:
  std::string_view name() const override { return kName; }
  bool is_default() const override { return false; }

  std::vector<CompositePattern> patterns(const Target&) const override { return make_patterns(); }
  std::optional<Refusal> validate(const Function&, const Target&) const override {
    return std::nullopt;
  }
  byoc::FusionStyle fusion_style() const override { return byoc::FusionStyle::kOneComposite; }
  byoc::ConstantStyle constants() const override { return byoc::ConstantStyle::kArguments; }

  Result<CompileOutcome> compile(Module module, const Target& target,
                                 CompileContext& context) const override {
    const auto symbols = byoc::compiler_functions(module, kName);
    std::string source = prologue(target);
    for (const std::string& symbol : symbols)
      source += source_of(symbol, module.functions.at(symbol));
    source += "}\n";
    const byoc::CompileJob job{std::string(kName), std::move(source), "cc", {"-std=c++20", "-O2"}};
    TESSERA_TRY(const auto objects, context.toolchain.compile(std::span(&job, 1)));
    Artifact artifact;
    artifact.kind = ArtifactKind::kStaticLibrary;
    artifact.backend = kName;
    artifact.symbols = symbols;
    TESSERA_TRY(artifact.payload, context.toolchain.archive(objects));
    module.artifacts.push_back(std::move(artifact));
    const auto index = static_cast<std::int32_t>(module.artifacts.size()) - 1;
    for (const std::string& symbol : symbols) byoc::make_extern(module, symbol, index, {});
    return CompileOutcome{std::move(module), {}};
  }
};

}  // namespace
}  // namespace ccompiler

const byoc::Backend& ccompiler_backend() {
  static const ccompiler::Ccompiler backend;
  return backend;
}

}  // namespace tessera::backends
