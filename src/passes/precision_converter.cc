// SPDX-License-Identifier: Apache-2.0
#include "passes/precision_converter.h"

#include <algorithm>
#include <map>

#include "ops/records/table.h"
#include "passes/float_types.h"
#include "passes/regions.h"
#include "relay/rewrite.h"

namespace tessera::passes {
namespace {

using relay::Copier;
using relay::NodeId;

// Attributes that name the result's type.
relay::Attrs attrs_in(const relay::OpCall& call, std::span<const DType> from, DType to) {
  relay::Attrs attrs = call.attrs;
  for (const relay::AttrField& field : call.op->attrs().fields) {
    if (field.type != relay::AttrType::kDType) continue;
    const relay::AttrValue* given = call.attrs.find(field.name);
    const relay::AttrValue& value = given != nullptr ? *given : field.default_value;
    if (std::ranges::find(from, value, [](DType t) { return relay::AttrValue(t); }) != from.end()) {
      attrs.set(field.name, to);
    }
  }
  return attrs;
}

class Converter {
 public:
  Converter(const relay::Function& f, const ConstantPool& pool, const ConversionPlan& plan)
      : f_(f),
        pool_(pool),
        plan_(plan),
        closed_(closed_bodies(f)),
        is_converted_(f.num_nodes(), false) {}

  relay::Function run() {
    relay::Function out = relay::rewrite(
        f_, [&](Copier& c, NodeId id) { return replace(c, id); }, {},
        [&](Copier& c, relay::RegionId region) { return close(c, region); });
    if (plan_.convert_io) out.result_annotation = {};  // inference completes it
    return out;
  }

 private:
  bool is_affected(const Type& type) const { return holds(type, plan_.from); }
  Type converted(const Type& type) const { return with_dtypes_as(type, plan_.from, plan_.to); }
  bool converts_io(relay::RegionId region) const {
    return plan_.convert_io && region == relay::Function::kBody;
  }

  // The value as a reader wants it: converted, or in its own type. Made at most once for a region
  // and those inside it.
  NodeId read(Copier& c, NodeId id, bool want, relay::RegionId reader) {
    const bool in_place = !is_affected(f_.type(id)) ||
                          (f_.as<relay::Tuple>(id) == nullptr && is_converted_[id.index()] == want);
    if (in_place) return c.map(id);
    for (relay::RegionId r = reader; r; r = f_.region(r).parent) {
      const auto made = made_.find({id, want, r});
      if (made != made_.end()) return made->second;
      if (r == f_[id].region) break;
    }
    return made_[{id, want, reader}] = convert(c, id, want, reader);
  }

  NodeId convert(Copier& c, NodeId id, bool want, relay::RegionId reader) {
    const Type type = want ? converted(f_.type(id)) : f_.type(id);
    if (f_.as<relay::Tuple>(id) != nullptr) {
      std::vector<NodeId> fields;
      for (const NodeId o : f_.operands(id)) fields.push_back(read(c, o, want, reader));
      return typed(c, c.builder().tuple(fields), type);
    }
    const auto* constant = f_.as<relay::Constant>(id);
    if (constant != nullptr) {
      const Tensor tensor = plan_.converted(pool_.resolve(constant->value));
      return typed(c, c.builder().constant(tensor), tensor.type());
    }
    return cast(c, c.map(id), type);
  }

  // `fresh` has the type but for the float types in it.
  static NodeId cast(Copier& c, NodeId fresh, const Type& type) {
    if (!type.is_tensor() && !type.is_tuple()) return fresh;
    if (type.is_tensor()) {
      if (c.builder().peek().type(fresh).dtype() == type.dtype()) return fresh;
      const NodeId call = c.builder().call(ops::op("cast"), {fresh}, {{"dtype", type.dtype()}});
      return typed(c, call, type);
    }
    std::vector<NodeId> fields;
    const std::vector<Type> now = c.builder().peek().type(fresh).fields();
    for (std::size_t i = 0; i < now.size(); ++i) {
      const NodeId field = typed(c, c.builder().project(fresh, static_cast<int>(i)), now[i]);
      fields.push_back(cast(c, field, type.fields()[i]));
    }
    return typed(c, c.builder().tuple(fields), type);
  }

  static NodeId typed(Copier& c, NodeId fresh, Type type) {
    c.builder().set_type(fresh, std::move(type));
    return fresh;
  }

  std::vector<NodeId> read_operands(Copier& c, NodeId id, bool want, std::size_t count = SIZE_MAX) {
    std::vector<NodeId> operands;
    for (const NodeId o : f_.operands(id)) {
      operands.push_back(read(c, o, want && operands.size() < count, f_[id].region));
    }
    return operands;
  }

  std::optional<NodeId> replace(Copier& c, NodeId id) {
    if (closed_[f_[id].region.index()]) return std::nullopt;
    switch (f_[id].kind()) {
      case relay::NodeKind::kParam:
        return parameter(c, id);
      case relay::NodeKind::kTuple:
        if (!is_affected(f_.type(id))) return std::nullopt;
        return read(c, id, false, f_[id].region);
      case relay::NodeKind::kProject:
        return projection(c, id);
      case relay::NodeKind::kLet:
        return let(c, id);
      case relay::NodeKind::kOpCall:
        return call(c, id);
      default:
        return c.copy(id, read_operands(c, id, false));
    }
  }

  std::optional<NodeId> parameter(Copier& c, NodeId id) {
    if (!converts_io(f_[id].region) || !is_affected(f_.type(id))) return std::nullopt;
    is_converted_[id.index()] = true;
    const Type type = converted(f_.type(id));
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
      is_converted_[id.index()] = is_converted_[field->index()];
      return c.map(*field);
    }
    const NodeId from = f_.operands(id)[0];
    is_converted_[id.index()] = is_converted_[from.index()];
    const NodeId fresh = c.copy(id);
    return is_converted_[id.index()] ? typed(c, fresh, converted(f_.type(id))) : fresh;
  }

  NodeId let(Copier& c, NodeId id) {
    const auto& let = *f_.as<relay::Let>(id);
    const NodeId value = f_.operands(id)[0];
    if (!is_converted_[value.index()]) return c.copy(id);
    is_converted_[id.index()] = true;
    const NodeId fresh = c.builder().let(let.name, c.map(value), converted(let.annotation));
    return typed(c, fresh, converted(f_.type(id)));
  }

  NodeId call(Copier& c, NodeId id) {
    const Conversion conversion = settled(id);
    if (conversion == Conversion::kNone) return c.copy(id, read_operands(c, id, false));
    is_converted_[id.index()] = true;
    const relay::OpCall& call = *f_.as<relay::OpCall>(id);
    const Type& type = f_.type(id);
    if (conversion == Conversion::kResult) {
      return cast(c, c.copy(id, read_operands(c, id, false)), converted(type));
    }
    const std::size_t count = conversion == Conversion::kFirst ? 1 : SIZE_MAX;
    const std::vector<NodeId> operands = read_operands(c, id, true, count);
    if (call.op->name == "cast" && c.builder().peek().type(operands[0]) == type) {
      return operands[0];
    }
    const bool names_type = is_affected(type);
    const NodeId fresh = c.builder().call(
        *call.op, operands, names_type ? attrs_in(call, plan_.from, plan_.to) : call.attrs);
    return typed(c, fresh, converted(type));
  }

  Conversion settled(NodeId id) const {
    const Conversion planned = plan_.calls[id.index()];
    if (planned != Conversion::kFollows) return planned;
    const bool follows =
        std::ranges::any_of(f_.operands(id), [&](NodeId o) { return is_converted_[o.index()]; });
    return follows ? Conversion::kWhole : Conversion::kNone;
  }

  NodeId close(Copier& c, relay::RegionId region) {
    const NodeId result = f_.region(region).result;
    if (closed_[region.index()]) return c.map(result);
    return read(c, result, converts_io(region), region);
  }

  const relay::Function& f_;
  const ConstantPool& pool_;
  const ConversionPlan& plan_;
  const std::vector<relay::RegionId> closed_;
  std::vector<bool> is_converted_;  // by old node: has what stands for it the other type?
  std::map<std::tuple<NodeId, bool, relay::RegionId>, NodeId> made_;
};

}  // namespace

relay::Function convert_precision(const relay::Function& f, const ConstantPool& pool,
                                  const ConversionPlan& plan) {
  return Converter(f, pool, plan).run();
}

}  // namespace tessera::passes
