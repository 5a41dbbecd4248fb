// SPDX-License-Identifier: Apache-2.0
// A back end that multiplies integers of eight bits takes the casts that make them wider, and the
// subtraction of their zero point, with the product. Where several products read the same wide
// values, each gets casts of its own: what is shared belongs to none of them.
#include <algorithm>

#include "passes/pass.h"
#include "passes/regions.h"
#include "relay/operator.h"
#include "relay/rewrite.h"

namespace tessera::passes {
namespace {

using relay::Copier;
using relay::Function;
using relay::NodeId;

// The subtraction, and a view of a cast, which a zero point may be.
constexpr int kMostSteps = 3;
constexpr std::string_view kProducts[] = {"nn.conv1d", "nn.conv2d", "nn.conv3d", "nn.dense",
                                          "nn.matmul"};

class Separation {
 public:
  explicit Separation(const Function& f) : f_(f), uses_(f), closed_(closed_bodies(f)) {}

  Function run() const {
    return relay::rewrite(f_, [&](Copier& c, NodeId id) { return separated(c, id); });
  }

 private:
  std::optional<NodeId> separated(Copier& c, NodeId id) const {
    const relay::Operator* op = f_.op(id);
    if (op == nullptr || closed_[f_[id].region.index()] ||
        std::ranges::find(kProducts, op->name) == std::end(kProducts)) {
      return std::nullopt;
    }
    const auto operands = f_.operands(id);
    if (!widens_bytes(operands[0]) || !is_shared(operands[0], kMostSteps)) return std::nullopt;
    const auto& call = *f_.as<relay::OpCall>(id);
    return c.builder().call(*call.op, {copy(c, operands[0], kMostSteps), c.map(operands[1])},
                            call.attrs);
  }

  // cast(x), or cast(x) - zero, of integers of eight bits.
  bool widens_bytes(NodeId id) const {
    if (relay::is_call_of(f_, id, "subtract")) id = f_.operands(id)[0];
    return is_part(id) && relay::is_call_of(f_, id, "cast") &&
           f_.type(f_.operands(id)[0]).dtype().is_byte();
  }

  // What is copied: the steps in int32.
  bool is_part(NodeId id) const {
    const bool is_step = relay::is_call_of(f_, id, "cast") ||
                         relay::is_call_of(f_, id, "subtract") ||
                         relay::is_call_of(f_, id, "reshape");
    return is_step && f_.type(id).is_tensor() && f_.type(id).dtype() == kInt32;
  }

  bool is_shared(NodeId id, int steps) const {
    if (steps == 0 || !is_part(id)) return false;
    if (uses_.of(id).size() > 1 || uses_.is_result(id)) return true;
    const auto operands = f_.operands(id);
    return std::ranges::any_of(operands, [&](NodeId o) { return is_shared(o, steps - 1); });
  }

  NodeId copy(Copier& c, NodeId id, int steps) const {
    if (steps == 0 || !is_part(id)) return c.map(id);
    std::vector<NodeId> operands;
    for (const NodeId o : f_.operands(id)) operands.push_back(copy(c, o, steps - 1));
    const auto& call = *f_.as<relay::OpCall>(id);
    return c.builder().call(*call.op, operands, call.attrs);
  }

  const Function& f_;
  const relay::Uses uses_;
  const std::vector<relay::RegionId> closed_;
};

Result<Module> run_separate_widening(Module module, PassContext&) {
  return map_optimizable(std::move(module), [](const Function& f, const ConstantPool&) {
    return Separation(f).run();
  });
}

}  // namespace

extern const Pass separate_widening;
const Pass separate_widening{
    .name = "separate-widening",
    .summary =
        "gives each product and convolution of integers of eight bits the casts before it for its "
        "own",
    .run = run_separate_widening,
};

}  // namespace tessera::passes
