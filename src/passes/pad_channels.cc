// SPDX-License-Identifier: Apache-2.0
// The few channels of an image become a multiple of four, with zeros: a kernel reads as many
// elements at once as divide the channels. So do any channels of eight bits: the kernels of those
// read words of 32 bits.
//   conv2d(x[n, h, w, 3], k[o, r, s, 3])  =  conv2d(pad(x)[n, h, w, 4], pad(k)[o, r, s, 4])
// What puts channels last writes the zeros, too, and kernels that are constants are padded once.
#include "ops/attrs/shape.h"
#include "ops/records/convolution.h"
#include "passes/pass.h"
#include "passes/regions.h"
#include "relay/rewrite.h"

namespace tessera::passes {
namespace {

using relay::Copier;
using relay::Function;
using relay::NodeId;

constexpr std::int64_t kMultiple = 4;
// With fewer, most of the products would be with zeros; more are mostly not an image's, and would
// be copied for it.
constexpr std::int64_t kLeast = 3, kMost = 15;

class Padder {
 public:
  Padder(const Function& f, const relay::OperatorTable& operators)
      : f_(f), closed_(closed_bodies(f)), operators_(operators) {}

  Function run() {
    return relay::rewrite(f_, [&](Copier& c, NodeId id) { return visit(c, id); });
  }

 private:
  std::optional<NodeId> visit(Copier& c, NodeId id) {
    if (f_.op(id) == nullptr || f_.op(id)->name != "nn.conv2d") return std::nullopt;
    if (closed_[f_[id].region.index()]) return std::nullopt;
    const auto attrs = relay::read_attrs<ops::Conv2DAttrs>(f_.as<relay::OpCall>(id)->attrs);
    if (attrs.groups != 1 || attrs.data_layout != "NHWC" || attrs.kernel_layout != "OHWI") {
      return std::nullopt;
    }
    const Type& x = f_.type(f_.operands(id)[0]);
    const auto channels = x.shape().back().as_constant();
    if (!channels || *channels % kMultiple == 0) return std::nullopt;
    if (!x.dtype().is_byte() && (*channels < kLeast || *channels > kMost)) return std::nullopt;
    const std::int64_t missing = kMultiple - *channels % kMultiple;
    const NodeId operands[] = {padded(c, f_.operands(id)[0], missing),
                               padded(c, f_.operands(id)[1], missing)};
    return c.copy(id, operands);
  }

  NodeId padded(Copier& c, NodeId old, std::int64_t missing) const {
    ops::PadAttrs attrs;
    attrs.pad_width = {{0, 0}, {0, 0}, {0, 0}, {0, missing}};
    return c.builder().call(*operators_.find("nn.pad"), {c.map(old)}, relay::write_attrs(attrs));
  }

  const Function& f_;
  const std::vector<relay::RegionId> closed_;  // by region
  const relay::OperatorTable& operators_;
};

Result<Module> run_pad_channels(Module module, PassContext& context) {
  return map_optimizable(std::move(module), [&](const Function& f, const ConstantPool&) {
    return Padder(f, context.operators).run();
  });
}

}  // namespace

extern const Pass pad_channels;
const Pass pad_channels{
    .name = "pad-channels",
    .summary =
        "gives convolutions of few channels, or of eight bits, a multiple of four channels where "
        "these lie last",
    .run = run_pad_channels,
};

}  // namespace tessera::passes
