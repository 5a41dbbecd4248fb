// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <tuple>

#include "lower/loop_constants.h"
#include "passes/pass.h"
#include "tir/walk.h"

namespace tessera::lower {
namespace {

using tir::AllocateConst;
using tir::Buffer;
using tir::Stmt;

// What two definitions must have in common to be one; shape and type are those of the data.
using Likeness = std::tuple<ConstantIndex, tir::MemoryScope, std::string, std::int64_t>;

// Equal definitions of a function become one, which stands before all else.
void share_within(tir::PrimFunc& f, ConstantPool& distinct) {
  std::map<Likeness, std::vector<LoopConstant>> alike;
  std::vector<Likeness> order;
  const auto likeness = [&](const LoopConstant& c) {
    const std::string space = c.buffer->space ? to_string(*c.buffer->space) : "";
    return Likeness(distinct.add(distinct.resolve(c.data)), c.buffer->scope, space,
                    c.buffer->align_bytes);
  };
  for (const LoopConstant& c : constant_definitions(f.body)) {
    if (!c.buffer->strides.empty()) continue;
    const Likeness key = likeness(c);
    auto& list = alike[key];
    if (list.size() == 1) order.push_back(key);
    list.push_back(c);
  }
  tir::BufferMap first;
  for (const Likeness& key : order) {
    for (const LoopConstant& c : alike.at(key)) {
      first[c.buffer.get()] = alike.at(key).front().buffer;
    }
  }
  if (order.empty()) return;
  f.body = map_constants(f.body, [&](const AllocateConst& c, const Stmt& scope) {
    return first.contains(c.buffer.get()) ? scope : AllocateConst::make(c.buffer, c.data, scope);
  });
  f.body = tir::substitute(f.body, {}, first);
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const LoopConstant& c = alike.at(*it).front();
    f.body = AllocateConst::make(c.buffer, c.data, f.body);
  }
}

Result<Module> run_share_constants(Module module, passes::PassContext&) {
  ConstantPool distinct = module.constants;
  const std::size_t pooled = distinct.size();
  std::map<ConstantIndex, int> definitions;
  for (auto& [name, f] : module.prim_funcs) {
    share_within(f, distinct);
    for (const LoopConstant& c : constant_definitions(f.body)) {
      ++definitions[distinct.add(distinct.resolve(c.data))];
    }
  }
  for (auto& [name, f] : module.prim_funcs) {
    f.body = map_constants(f.body, [&](const AllocateConst& c, const Stmt& scope) {
      const ConstantIndex index = distinct.add(distinct.resolve(c.data));
      const bool is_shared = index.index() < pooled || definitions[index] > 1;
      const auto* tensor = std::get_if<Tensor>(&c.data);
      if (!is_shared || tensor == nullptr) return AllocateConst::make(c.buffer, c.data, scope);
      return AllocateConst::make(c.buffer, ConstantValue(module.constants.add(*tensor)), scope);
    });
  }
  return module;
}

}  // namespace

extern const passes::Pass share_constants;
const passes::Pass share_constants{
    .name = "share-constants",
    .summary =
        "defines equal constants once in each loop function, and stores once what several "
        "have",
    .needs_types = false,
    .run = run_share_constants,
};

}  // namespace tessera::lower
