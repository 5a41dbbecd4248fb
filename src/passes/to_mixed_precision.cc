// SPDX-License-Identifier: Apache-2.0
// Computes a float32 model in a 16-bit type where that costs no accuracy worth having
// (passes/precision_plan.h); casts stand between the two, constants are converted here.
#include <array>
#include <map>

#include "ops/records/table.h"
#include "passes/narrow_constant.h"
#include "passes/pass.h"
#include "passes/precision_plan.h"
#include "passes/precision_rules.h"
#include "passes/regions.h"
#include "relay/rewrite.h"

namespace tessera::passes {
namespace {

using relay::Copier;
using relay::NodeId;

constexpr relay::AttrRule kSixteenBits{"float16 or bfloat16", [](const relay::AttrValue& v) {
                                         const DType dtype = relay::AttrCodec<DType>::decode(v);
                                         return dtype == kFloat16 || dtype == kBFloat16;
                                       }};

struct ToMixedPrecisionOptions {
  DType dtype = kFloat16;
  bool convert_io = false;
  static constexpr auto fields =
      std::tuple{relay::attr("dtype", &ToMixedPrecisionOptions::dtype, kSixteenBits),
                 relay::attr("convert_io", &ToMixedPrecisionOptions::convert_io)};
};

// Attributes that name the result's type.
relay::Attrs with_dtypes_as(const relay::OpCall& call, DType to) {
  relay::Attrs attrs = call.attrs;
  for (const relay::AttrField& field : call.op->attrs().fields) {
    if (field.type != relay::AttrType::kDType) continue;
    const relay::AttrValue* given = call.attrs.find(field.name);
    if ((given != nullptr ? *given : field.default_value) == relay::AttrValue(kFloat32)) {
      attrs.set(field.name, to);
    }
  }
  return attrs;
}

class Converter {
 public:
  Converter(const relay::Function& f, const ConstantPool& pool, const PrecisionRequest& request,
            PrecisionPlan plan)
      : f_(f),
        pool_(pool),
        request_(request),
        plan_(std::move(plan)),
        closed_(closed_bodies(f)),
        is_low_(f.num_nodes(), false) {}

  relay::Function run() {
    relay::Function out = relay::rewrite(
        f_, [&](Copier& c, NodeId id) { return replace(c, id); }, {},
        [&](Copier& c, relay::RegionId region) { return close(c, region); });
    if (request_.convert_io) out.result_annotation = {};  // inference completes it
    return out;
  }

 private:
  // The value in the type that a reader wants for its float32 parts. Made at most once for a
  // region and those inside it.
  NodeId read(Copier& c, NodeId id, DType want, relay::RegionId reader) {
    const Type& type = f_.type(id);
    const bool in_place = !has_float32(type) || (f_.as<relay::Tuple>(id) == nullptr &&
                                                 is_low_[id.index()] == (want != kFloat32));
    if (in_place) return c.map(id);
    for (relay::RegionId r = reader; r; r = f_.region(r).parent) {
      const auto made = converted_.find({id, want, r});
      if (made != converted_.end()) return made->second;
      if (r == f_[id].region) break;
    }
    return converted_[{id, want, reader}] = convert(c, id, want, reader);
  }

  NodeId convert(Copier& c, NodeId id, DType want, relay::RegionId reader) {
    if (f_.as<relay::Tuple>(id) != nullptr) {
      std::vector<NodeId> fields;
      for (const NodeId o : f_.operands(id)) fields.push_back(read(c, o, want, reader));
      return typed(c, c.builder().tuple(fields), with_float32_as(f_.type(id), want));
    }
    const auto* constant = f_.as<relay::Constant>(id);
    if (constant != nullptr) {
      const Tensor tensor = narrowed(pool_.resolve(constant->value), want);
      return typed(c, c.builder().constant(tensor), tensor.type());
    }
    return cast(c, c.map(id), f_.type(id), want);
  }

  // `fresh` has the type with some float type in place of float32.
  static NodeId cast(Copier& c, NodeId fresh, const Type& type, DType want) {
    if (!has_float32(type)) return fresh;
    const Type target = with_float32_as(type, want);
    if (!type.is_tuple()) {
      return typed(c, c.builder().call(ops::op("cast"), {fresh}, {{"dtype", want}}), target);
    }
    std::vector<NodeId> fields;
    const std::vector<Type> now = c.builder().peek().type(fresh).fields();
    for (std::size_t i = 0; i < now.size(); ++i) {
      const NodeId field = typed(c, c.builder().project(fresh, static_cast<int>(i)), now[i]);
      fields.push_back(cast(c, field, type.fields()[i], want));
    }
    return typed(c, c.builder().tuple(fields), target);
  }

  static NodeId typed(Copier& c, NodeId fresh, Type type) {
    c.builder().set_type(fresh, std::move(type));
    return fresh;
  }

  std::vector<NodeId> read_operands(Copier& c, NodeId id, DType want) {
    std::vector<NodeId> operands;
    for (const NodeId o : f_.operands(id)) {
      operands.push_back(read(c, o, want, f_[id].region));
    }
    return operands;
  }

  std::optional<NodeId> replace(Copier& c, NodeId id) {
    if (closed_[f_[id].region.index()]) return std::nullopt;
    switch (f_[id].kind()) {
      case relay::NodeKind::kParam:
        return parameter(c, id);
      case relay::NodeKind::kTuple:
        if (!has_float32(f_.type(id))) return std::nullopt;
        return read(c, id, kFloat32, f_[id].region);
      case relay::NodeKind::kProject:
        return projection(c, id);
      case relay::NodeKind::kLet:
        return let(c, id);
      case relay::NodeKind::kOpCall:
        return call(c, id);
      default:
        return c.copy(id, read_operands(c, id, kFloat32));
    }
  }

  std::optional<NodeId> parameter(Copier& c, NodeId id) {
    const bool kept = !request_.convert_io || f_[id].region != relay::Function::kBody;
    if (kept || !has_float32(f_.type(id))) return std::nullopt;
    is_low_[id.index()] = true;
    const Type type = with_float32_as(f_.type(id), request_.low);
    return typed(c, c.builder().param(f_.as<relay::Param>(id)->name, type), type);
  }

  // The field that a chain of projections takes of tuples that are made here; else nothing.
  std::optional<NodeId> field_of_tuple(NodeId id) const {
    std::vector<int> path;
    while (true) {
      if (const auto* project = f_.as<relay::Project>(id)) {
        path.push_back(project->index);
        id = f_.operands(id)[0];
      } else if (path.empty()) {
        return id;
      } else if (f_.as<relay::Tuple>(id) != nullptr) {
        id = f_.operands(id)[static_cast<std::size_t>(path.back())];
        path.pop_back();
      } else {
        return std::nullopt;
      }
    }
  }

  NodeId projection(Copier& c, NodeId id) {
    if (const std::optional<NodeId> field = field_of_tuple(id)) {
      is_low_[id.index()] = is_low_[field->index()];
      return c.map(*field);
    }
    const NodeId from = f_.operands(id)[0];
    is_low_[id.index()] = is_low_[from.index()];
    const NodeId fresh = c.copy(id);
    return is_low_[id.index()] ? typed(c, fresh, with_float32_as(f_.type(id), request_.low))
                               : fresh;
  }

  NodeId let(Copier& c, NodeId id) {
    const auto& let = *f_.as<relay::Let>(id);
    const NodeId value = f_.operands(id)[0];
    if (!is_low_[value.index()]) return c.copy(id);
    is_low_[id.index()] = true;
    const NodeId fresh =
        c.builder().let(let.name, c.map(value), with_float32_as(let.annotation, request_.low));
    return typed(c, fresh, with_float32_as(f_.type(id), request_.low));
  }

  NodeId call(Copier& c, NodeId id) {
    if (!computes_low(id)) return c.copy(id, read_operands(c, id, kFloat32));
    is_low_[id.index()] = true;
    const relay::OpCall& call = *f_.as<relay::OpCall>(id);
    const Type& type = f_.type(id);
    if (precision_rule(*call.op).kind == PrecisionRule::kFloat32Inside) {
      return cast(c, c.copy(id, read_operands(c, id, kFloat32)), type, request_.low);
    }
    const std::vector<NodeId> operands = read_operands(c, id, request_.low);
    if (call.op->name == "cast" && c.builder().peek().type(operands[0]) == type) {
      return operands[0];
    }
    const bool names_type = has_float32(type);
    const NodeId fresh = c.builder().call(
        *call.op, operands, names_type ? with_dtypes_as(call, request_.low) : call.attrs);
    return typed(c, fresh, with_float32_as(type, request_.low));
  }

  bool computes_low(NodeId id) const {
    const Precision planned = plan_.computed[id.index()];
    if (planned != Precision::kEither) return planned == Precision::kLow;
    for (const NodeId o : f_.operands(id)) {
      if (is_low_[o.index()]) return true;
    }
    return false;
  }

  NodeId close(Copier& c, relay::RegionId region) {
    const NodeId result = f_.region(region).result;
    if (closed_[region.index()]) return c.map(result);
    const bool kept = !request_.convert_io || region != relay::Function::kBody;
    return read(c, result, kept ? kFloat32 : request_.low, region);
  }

  const relay::Function& f_;
  const ConstantPool& pool_;
  const PrecisionRequest request_;
  const PrecisionPlan plan_;
  const std::vector<relay::RegionId> closed_;
  std::vector<bool> is_low_;  // by old node: has what stands for it the 16-bit type?
  std::map<std::tuple<NodeId, DType, relay::RegionId>, NodeId> converted_;
};

Result<Module> run_to_mixed_precision(Module module, PassContext& context) {
  const auto options = relay::read_attrs<ToMixedPrecisionOptions>(context.options);
  for (auto& [name, function] : module.functions) {
    if (!relay::is_optimizable(function)) continue;
    CheckContext check("in @" + name);
    const PrecisionRequest request{options.dtype, options.convert_io && name == "main"};
    PrecisionPlan plan = plan_precision(function, module.constants, request);
    for (Diagnostic& w : plan.warnings) context.warnings.push_back(std::move(w));
    function = Converter(function, module.constants, request, std::move(plan)).run();
  }
  return module;
}

}  // namespace

extern const Pass to_mixed_precision;
const Pass to_mixed_precision{
    .name = "to-mixed-precision",
    .summary =
        "computes products and what lies between them in a 16-bit type, sums, exponentials "
        "and norms in float32",
    .options = relay::attr_schema<ToMixedPrecisionOptions>,
    .run = run_to_mixed_precision,
};

}  // namespace tessera::passes
