// SPDX-License-Identifier: Apache-2.0
// A transposed convolution of stride s gives s results for each place of the data, and each of them
// is a convolution with every s-th element of the kernel: convolutions with s times the channels,
// whose results are put side by side.
#include "ops/attrs/conv.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "passes/evaluated_call.h"
#include "passes/pass.h"
#include "passes/size_range.h"
#include "passes/transposed_windows.h"
#include "relay/rewrite.h"

namespace tessera::passes {
namespace {

using relay::Copier;
using relay::Function;
using relay::NodeId;
using Ints = std::vector<std::int64_t>;

constexpr std::int64_t kFewChannels = 16;  // below it oneDNN's transposed convolutions are slow
constexpr std::int64_t kMostPhases = 64, kMostConvolutions = 16;

struct TransposedConvOptions {
  bool all = false;  // those that back ends are fast with, too
  static constexpr auto fields = std::tuple{relay::attr("all", &TransposedConvOptions::all)};
};

struct Transposed {
  std::int64_t inputs = 0, outputs = 0, groups = 1;  // channels of all groups
  std::vector<TransposedAxis> axes;
  Ints zeros;  // behind the kernel's elements along each of them
  DType dtype = kFloat32;
  Ints data, weight, result;  // where the dimensions by meaning lie in their layouts

  std::int64_t phases() const {
    std::int64_t n = 1;
    for (const TransposedAxis& a : axes) n *= a.stride;
    return n;
  }
  std::int64_t convolutions() const {
    std::int64_t n = 1;
    for (const TransposedAxis& a : axes) n *= static_cast<std::int64_t>(a.runs.size());
    return n;
  }
};

// Where "NCDHW" lie in a layout of data. Of a weight, the data's channels are the one of both
// letters for channels that comes first.
Ints places(std::string_view layout, std::string_view leading, std::size_t spatial) {
  Ints out;
  for (const char c : leading) out.push_back(static_cast<std::int64_t>(layout.find(c)));
  if (leading == "OI" && out[0] > out[1]) std::swap(out[0], out[1]);
  for (const char c : std::string_view("DHW").substr(3 - spatial)) {
    out.push_back(static_cast<std::int64_t>(layout.find(c)));
  }
  return out;
}

bool is_identity(const Ints& order) { return std::is_sorted(order.begin(), order.end()); }

// Few channels make short vectors: all phases are better off in one convolution, some with zeros in
// their windows.
TransposedWindow with_equal_phases(TransposedWindow w) {
  if (w.dilation == 1) {
    const std::int64_t whole = (w.kernel + w.stride - 1) / w.stride * w.stride;
    w.output_padding -= whole - w.kernel;
    w.kernel = whole;
  }
  return w;
}

bool has_plain_types(const Function& f, NodeId conv, bool all) {
  const DType t = f.type(conv).dtype();
  for (const NodeId operand : f.operands(conv)) {
    if (f.type(operand).dtype() != t) return false;
  }
  return t == kFloat32 || (all && t.is_float());
}

template <class Attrs>
std::optional<Transposed> transposed_of(const Function& f, NodeId conv, bool all,
                                        const SymbolTable& symbols) {
  const auto p = relay::read_attrs<Attrs>(f.as<relay::OpCall>(conv)->attrs);
  const std::size_t n = p.strides.size();
  const NodeId data = f.operands(conv)[0], weight = f.operands(conv)[1];
  const auto w = constant_shape(f.type(weight).shape());
  Transposed t;
  t.groups = p.groups;
  t.dtype = f.type(conv).dtype();
  t.data = places(p.data_layout, "NC", n);
  t.weight = places(p.kernel_layout, "OI", n);
  t.result = places(p.out_layout.empty() ? p.data_layout : p.out_layout, "NC", n);
  const bool is_default = is_identity(t.data) && is_identity(t.weight) && is_identity(t.result);
  const bool is_plain = has_plain_types(f, conv, all) && (all || is_default) && p.groups > 0 &&
                        p.dilation.size() == n && p.output_padding.size() == n &&
                        (p.padding.size() == n || p.padding.size() == 2 * n);
  if (!is_plain || !w || (!all && f.as<relay::Constant>(weight) == nullptr)) return std::nullopt;
  const auto weight_size = [&](std::size_t d) {
    return (*w)[static_cast<std::size_t>(t.weight[d])];
  };
  t.inputs = weight_size(0);
  t.outputs = weight_size(1) * p.groups;
  if (t.inputs < 1 || t.outputs < 1) return std::nullopt;
  const bool is_narrow = std::min(t.inputs, t.outputs) / t.groups < kFewChannels;
  bool has_strides = false;
  for (std::size_t s = 0; s < n; ++s) {
    TransposedWindow window{weight_size(2 + s),
                            p.strides[s],
                            p.dilation[s],
                            p.padding[s],
                            p.padding[p.padding.size() == n ? s : n + s],
                            p.output_padding[s]};
    const bool is_asked = all || window.stride == 1 || window.dilation == 1;
    if (window.kernel < 1 || window.stride > kMostPhases || !is_asked) return std::nullopt;
    has_strides |= window.stride > 1;
    auto a = transposed_axis(is_narrow ? with_equal_phases(window) : window);
    const Dim size = f.type(data).shape()[static_cast<std::size_t>(t.data[2 + s])];
    if (!a) return std::nullopt;
    a->make_room(range_of(size, symbols).min);
    const Dim found = a->size(size);
    const Dim wanted = f.type(conv).shape()[static_cast<std::size_t>(t.result[2 + s])];
    if (found != wanted || found.is_unknown()) return std::nullopt;
    t.axes.push_back(*a);
    t.zeros.push_back(a->kernel - window.kernel);
  }
  if (t.phases() > kMostPhases || t.convolutions() > kMostConvolutions) return std::nullopt;
  return all || is_narrow || !has_strides ? std::optional(std::move(t)) : std::nullopt;
}

class Rewriter {
 public:
  Rewriter(Copier& c, const ConstantPool& pool, const relay::OperatorTable& operators,
           const Transposed& t)
      : c_(c), pool_(pool), operators_(operators), t_(t), n_(t.axes.size()) {
    for (const TransposedAxis& a : t.axes) has_strides_ |= a.stride > 1;
  }

  NodeId run(NodeId data, NodeId weight) {
    data_ = transposed(data, t_.data);
    weight_ = padded(transposed(weight, t_.weight), 2 + n_, 2, t_.zeros);
    Ints back(t_.result.size());
    for (std::size_t d = 0; d < back.size(); ++d) {
      back[static_cast<std::size_t>(t_.result[d])] = static_cast<std::int64_t>(d);
    }
    const NodeId y = cut(has_strides_ ? side_by_side(phases({})) : convolution(first_runs()));
    return transposed(y, back);
  }

 private:
  using Runs = std::vector<const PhaseRun*>;
  // Codes of reshape.
  static constexpr std::int64_t kRest = -2, kMerged = -3, kSplit = -4;

  NodeId call(std::string_view op, const std::vector<NodeId>& operands, relay::Attrs attrs) const {
    return evaluated_call(c_, pool_, *operators_.find(op), operands, std::move(attrs));
  }

  NodeId transposed(NodeId x, const Ints& axes) const {
    return is_identity(axes) ? x : call("transpose", {x}, {{"axes", axes}});
  }

  // With zeros behind some dimensions, from `first` on.
  NodeId padded(NodeId x, std::size_t rank, std::size_t first, const Ints& zeros) const {
    if (std::all_of(zeros.begin(), zeros.end(), [](std::int64_t n) { return n == 0; })) return x;
    relay::AttrArray widths(first, relay::AttrArray{0, 0});
    for (const std::int64_t n : zeros) widths.emplace_back(relay::AttrArray{0, n});
    widths.resize(rank, relay::AttrArray{0, 0});
    const NodeId zero = c_.builder().constant(tensor_from_doubles({}, t_.dtype, std::vector{0.0}));
    return call("nn.pad", {x, zero}, {{"pad_width", widths}});
  }

  Runs first_runs() const {
    Runs runs;
    for (const TransposedAxis& a : t_.axes) runs.push_back(&a.runs[0]);
    return runs;
  }

  // (batch, groups, phases..., outputs / groups, places...) of the runs that are chosen, and all
  // phases along further dimensions.
  NodeId phases(Runs chosen) const {
    const std::size_t s = chosen.size();
    if (s == n_) return with_phases(convolution(chosen), chosen);
    std::vector<NodeId> parts;
    for (const PhaseRun& run : t_.axes[s].runs) {
      chosen.push_back(&run);
      parts.push_back(phases(chosen));
      chosen.pop_back();
    }
    const auto axis = static_cast<std::int64_t>(2 + s);
    const NodeId all = parts.size() == 1
                           ? parts[0]
                           : call("concatenate", {c_.builder().tuple(parts)}, {{"axis", axis}});
    return padded(all, 3 + 2 * n_, 2 + s, {t_.axes[s].empty});
  }

  NodeId convolution(const Runs& runs) const {
    Ints padding, ends, dilation, kernel;
    std::int64_t channels = t_.outputs;
    for (std::size_t s = 0; s < n_; ++s) {
      padding.push_back(runs[s]->pad_begin);
      ends.push_back(runs[s]->pad_end);
      dilation.push_back(t_.axes[s].dilation);
      kernel.push_back(runs[s]->taps);
      channels *= runs[s]->phases;
    }
    padding.insert(padding.end(), ends.begin(), ends.end());
    return call(fmt::format("nn.conv{}d", n_), {data_, weight_of(runs)},
                {{"strides", Ints(n_, 1)},
                 {"padding", padding},
                 {"dilation", dilation},
                 {"groups", t_.groups},
                 {"channels", channels},
                 {"kernel_size", kernel}});
  }

  // (inputs, outputs / groups, kernel...) as (groups * phases * outputs / groups, inputs / groups,
  // taps...).
  NodeId weight_of(const Runs& runs) const {
    NodeId w = weight_;
    Ints parts{t_.groups, t_.inputs / t_.groups, t_.outputs / t_.groups};
    Ints order{0}, behind{2, 1}, shape{t_.outputs, t_.inputs / t_.groups};
    for (std::size_t s = 0; s < n_; ++s) {
      const PhaseRun& run = *runs[s];
      const NodeId elements = c_.builder().constant(
          tensor_from_doubles({static_cast<std::int64_t>(run.elements.size())}, kInt64,
                              std::vector<double>(run.elements.begin(), run.elements.end())));
      w = call("take", {w, elements},
               {{"axis", static_cast<std::int64_t>(2 + s)}, {"mode", "clip"}});
      order.push_back(static_cast<std::int64_t>(parts.size()));
      behind.push_back(static_cast<std::int64_t>(parts.size()) + 1);
      parts.insert(parts.end(), {run.phases, run.taps});
      shape[0] *= run.phases;
      shape.push_back(run.taps);
    }
    order.insert(order.end(), behind.begin(), behind.end());
    w = call("reshape", {w}, {{"newshape", parts}});
    w = call("transpose", {w}, {{"axes", order}});
    return call("reshape", {w}, {{"newshape", shape}});
  }

  // (batch, groups * phases * outputs / groups, places...), the second dimension apart.
  NodeId with_phases(NodeId y, const Runs& runs) const {
    std::int64_t rest = t_.outputs / t_.groups;
    for (const PhaseRun* run : runs) rest *= run->phases;
    y = call("reshape", {y}, {{"newshape", Ints{0, kSplit, t_.groups, rest, kRest}}});
    for (std::size_t s = 0; s < n_; ++s) {
      rest /= runs[s]->phases;
      Ints split(2 + s, 0);
      split.insert(split.end(), {kSplit, runs[s]->phases, rest, kRest});
      y = call("reshape", {y}, {{"newshape", split}});
    }
    return y;
  }

  // What `phases` has given as (batch, outputs, places * strides...).
  NodeId side_by_side(NodeId y) const {
    const auto n = static_cast<std::int64_t>(n_);
    Ints order{0, 1, 2 + n}, merged{0, kMerged};
    for (std::int64_t s = 0; s < n; ++s) {
      order.insert(order.end(), {3 + n + s, 2 + s});
      merged.push_back(kMerged);
    }
    y = call("transpose", {y}, {{"axes", order}});
    return call("reshape", {y}, {{"newshape", merged}});
  }

  NodeId cut(NodeId y) const {
    Ints begin, end, axes;
    bool is_whole = true;
    for (std::size_t s = 0; s < n_; ++s) {
      const TransposedAxis& a = t_.axes[s];
      begin.push_back(a.skipped);
      end.push_back(a.cut > 0 ? -a.cut : std::numeric_limits<std::int64_t>::max());
      axes.push_back(static_cast<std::int64_t>(2 + s));
      is_whole &= a.skipped == 0 && a.cut == 0;
    }
    if (is_whole) return y;
    return call(
        "strided_slice", {y},
        {{"begin", begin}, {"end", end}, {"strides", Ints(axes.size(), 1)}, {"axes", axes}});
  }

  Copier& c_;
  const ConstantPool& pool_;
  const relay::OperatorTable& operators_;
  const Transposed& t_;
  std::size_t n_;
  bool has_strides_ = false;
  NodeId data_, weight_;
};

std::optional<Transposed> transposed_of(const Function& f, NodeId id, bool all,
                                        const SymbolTable& symbols) {
  if (f.op(id) == nullptr) return std::nullopt;
  const std::string_view op = f.op(id)->name;
  if (op == "nn.conv1d_transpose")
    return transposed_of<ops::Conv1DTransposeAttrs>(f, id, all, symbols);
  if (op == "nn.conv2d_transpose")
    return transposed_of<ops::Conv2DTransposeAttrs>(f, id, all, symbols);
  if (op == "nn.conv3d_transpose")
    return transposed_of<ops::Conv3DTransposeAttrs>(f, id, all, symbols);
  return std::nullopt;
}

Result<Module> run_convert_transposed_conv(Module module, PassContext& context) {
  const bool all = relay::read_attrs<TransposedConvOptions>(context.options).all;
  const SymbolTable symbols = module.symbols;
  return map_optimizable(std::move(module), [&](const Function& f, const ConstantPool& pool) {
    return relay::rewrite(f, [&](Copier& c, NodeId id) -> std::optional<NodeId> {
      const auto t = transposed_of(f, id, all, symbols);
      if (!t) return std::nullopt;
      return Rewriter(c, pool, context.operators, *t)
          .run(c.map(f.operands(id)[0]), c.map(f.operands(id)[1]));
    });
  });
}

}  // namespace

extern const Pass convert_transposed_conv;
const Pass convert_transposed_conv{
    .name = "convert-transposed-conv",
    .summary = "makes convolutions of transposed ones: of few channels, without strides, or all",
    .options = relay::attr_schema<TransposedConvOptions>,
    .run = run_convert_transposed_conv,
};

}  // namespace tessera::passes
