// SPDX-License-Identifier: Apache-2.0
#include "backends/cudnn/compiler/convolution.h"

#include <algorithm>

#include <fmt/format.h>

#include "ops/attrs/conv.h"
#include "ops/attrs/elementwise.h"
#include "ops/records/convolution.h"
#include "relay/operator.h"
#include "relay/patterns/refuse.h"

namespace tessera::backends::cudnn {
namespace {

using relay::Function;
using relay::NodeId;
using relay::Refusal;
using relay::refuse;
using Why = std::optional<Refusal>;
using Ints = std::vector<std::int64_t>;

bool is_convolution(const Function& f, NodeId id) {
  return f.op(id) != nullptr && (f.op(id)->name == "nn.conv2d" || f.op(id)->name == "nn.conv1d");
}

// What the operators' letters are called by cuDNN, in its order; a row is an image of one row.
constexpr std::string_view kOrder[] = {"NO", "CI", "H", "W"};

// Sizes are checked.
View view_of(const Shape& shape, std::string_view layout) {
  Ints strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0; stride *= shape[i].constant()) strides[i] = stride;
  View view;
  for (const std::string_view letters : kOrder) {
    const std::size_t at = layout.find_first_of(letters), w = layout.find('W');
    const bool is_row = at == std::string_view::npos;
    view.dims.push_back(is_row ? 1 : shape[at].constant());
    view.strides.push_back(is_row ? strides[w] * shape[w].constant() : strides[at]);
  }
  return view;
}

// Those that cuDNN has kernels for: channels last in image and kernel, or first in both.
struct Layouts {
  std::string_view op, data, kernel;
};
constexpr Layouts kLayouts[] = {{"nn.conv2d", "NHWC", "OHWI"},
                                {"nn.conv2d", "NCHW", "OIHW"},
                                {"nn.conv1d", "NWC", "OWI"},
                                {"nn.conv1d", "NCW", "OIW"}};

class Describer {
 public:
  Describer(const relay::Match& match, const Target& target) : m_(match), f_(*match.function) {
    out_.tf32 = target.get_bool("tf32");
    out_.runtime_engines = target.get_bool("runtime_engines");
  }

  Expected<Convolution, Refusal> run() {
    for (const NodeId id : m_.inside) {
      if (!is_convolution(f_, id)) continue;
      if (core_) return refuse("there are two convolutions");
      core_ = id;
    }
    if (!core_) return refuse("there is no convolution");
    if (auto why = add_core()) return {Unexpected<Refusal>{*why}};
    out_.result = view_of(f_.type(core_).shape(), layout_);
    if (auto why = add_steps_to(m_.root)) return {Unexpected<Refusal>{*why}};
    add_whole_tensors_first();
    return std::move(out_);
  }

 private:
  template <class A>
  A attrs(NodeId id) const {
    return relay::read_attrs<A>(f_.as<relay::OpCall>(id)->attrs);
  }

  Why add_core() {
    return f_.op(core_)->name == "nn.conv2d" ? add_core(attrs<ops::Conv2DAttrs>(core_))
                                             : add_core(attrs<ops::Conv1DAttrs>(core_));
  }

  Why add_core(const ops::ConvAttrs& a) {
    const std::string_view op = f_.op(core_)->name, result = ops::result_layout(a);
    const auto* layouts =
        std::find_if(std::begin(kLayouts), std::end(kLayouts), [&](const auto& l) {
          return l.op == op && l.data == a.data_layout && l.kernel == a.kernel_layout;
        });
    if (layouts == std::end(kLayouts) || result != a.data_layout) {
      return Refusal{fmt::format("there is no kernel for {} by {} to {}", a.data_layout,
                                 a.kernel_layout, result)};
    }
    layout_ = layouts->data;
    const NodeId x = f_.operands(core_)[0], w = f_.operands(core_)[1];
    out_.dtype = f_.type(x).dtype();
    const DType d = out_.dtype;
    if (auto why = check_dtype(d, "a convolution")) return why;
    for (const NodeId id : {x, w, core_}) {
      if (f_.type(id).dtype() != d) {
        return Refusal{fmt::format("{} and {} in one convolution", to_string(d),
                                   to_string(f_.type(id).dtype()))};
      }
      if (auto why = check_sizes(f_.type(id))) return why;
    }
    out_.operands = {{x, d, view_of(f_.type(x).shape(), layout_)},
                     {w, d, view_of(f_.type(w).shape(), layouts->kernel)}};
    if (x == w) return Refusal{"the image is the weights, too"};
    if (is_inside(x) || is_inside(w)) return Refusal{"a constant in between"};
    add_window(a, layouts->kernel);
    return std::nullopt;
  }

  void add_window(const ops::ConvAttrs& a, std::string_view kernel) {
    const Shape& w = f_.type(f_.operands(core_)[1]).shape();
    Ints sizes;
    for (std::size_t i = 0; i < w.size(); ++i) {
      if (kernel[i] == 'H' || kernel[i] == 'W') sizes.push_back(w[i].constant());
    }
    out_.window = ops::known_window(sizes, a.strides, a.dilation, a.padding);
    if (out_.window.size() == 1) out_.window.insert(out_.window.begin(), ops::WindowAxis{});
  }

  bool is_inside(NodeId id) const {
    return std::binary_search(m_.inside.begin(), m_.inside.end(), id);
  }

  // Does the value come from the convolution?
  bool depends(NodeId id) const {
    if (id == core_) return true;
    if (!is_inside(id)) return false;
    const auto operands = f_.operands(id);
    return std::any_of(operands.begin(), operands.end(), [&](NodeId o) { return depends(o); });
  }

  // Appends what leads from the convolution to `id`.
  Why add_steps_to(NodeId id) {
    if (id == core_) return std::nullopt;
    if (f_.op(id) == nullptr) return Refusal{"a tuple in between"};
    const std::string_view op = f_.op(id)->name;
    if (f_.type(id).shape() != f_.type(core_).shape() || f_.type(id).dtype() != out_.dtype) {
      return Refusal{fmt::format("`{}` gives {}, the convolution {}", op, to_string(f_.type(id)),
                                 to_string(f_.type(core_)))};
    }
    const auto operands = f_.operands(id);
    if (op == "multiply") {
      if (const auto x = swish_of(id)) return add_after(*x, {"swish"});
    }
    if (op == "add" || op == "multiply" || op == "nn.bias_add") return add_binary(id, op);
    auto step = activation(id, op);
    if (!step) return step.error();
    return add_after(operands[0], *std::move(step));
  }

  Why add_after(NodeId before, Step step) {
    if (auto why = add_steps_to(before)) return why;
    out_.steps.push_back(std::move(step));
    return std::nullopt;
  }

  // x of x sigmoid(x).
  std::optional<NodeId> swish_of(NodeId product) const {
    const auto operands = f_.operands(product);
    for (const std::size_t i : {0u, 1u}) {
      const NodeId x = operands[i], gate = operands[1 - i];
      if (is_inside(gate) && relay::is_call_of(f_, gate, "sigmoid") && f_.operands(gate)[0] == x) {
        return x;
      }
    }
    return std::nullopt;
  }

  Expected<Step, Refusal> activation(NodeId id, std::string_view op) const {
    if (op == "nn.relu") return Step{"relu"};
    if (op == "sigmoid" || op == "tanh") return Step{std::string(op)};
    if (op == "nn.gelu") return Step{"gelu"};
    if (op == "nn.elu") return Step{"elu", {}, {{"alpha", attrs<ops::EluAttrs>(id).alpha}}};
    if (op == "nn.leaky_relu") {
      return Step{"relu", {}, {{"slope", attrs<ops::LeakyReluAttrs>(id).alpha}}};
    }
    if (op == "clip") {
      const auto a = attrs<ops::ClipAttrs>(id);
      if (a.a_min == 0 && a.a_max > 0) {
        return Step{"relu", {}, {{"lower_clip", 0}, {"upper_clip", a.a_max}}};
      }
      return refuse("a clip to [{}, {}] is no ReLU", a.a_min, a.a_max);
    }
    return refuse("`{}` is none of the operations that cuDNN is given", op);
  }

  Why add_binary(NodeId id, std::string_view op) {
    const auto operands = f_.operands(id);
    const std::size_t chain = depends(operands[0]) ? 0 : 1;
    const NodeId other = operands[1 - chain];
    if (depends(other)) {
      return Refusal{fmt::format("`{}` of two values that come from the convolution", op)};
    }
    if (auto why = add_steps_to(operands[chain])) return why;
    if (op == "nn.bias_add") {
      const auto axis = attrs<ops::BiasAddAttrs>(id).axis;
      const auto rank = static_cast<std::int64_t>(f_.type(id).rank());
      const auto channels = static_cast<std::int64_t>(layout_.find('C'));
      if (axis != channels && axis + rank != channels) {
        return Refusal{fmt::format("the bias is along axis {}, not along channels", axis)};
      }
    }
    const bool is_vector = op == "nn.bias_add";
    auto operand = operand_of(other, is_vector);
    if (!operand) return operand.error();
    out_.steps.push_back({op == "multiply" ? "mul" : "add", *operand});
    return std::nullopt;
  }

  // The number of the operand that the value is: full, or one along some of the dimensions.
  Expected<std::size_t, Refusal> operand_of(NodeId id, bool is_vector) {
    const Type& type = f_.type(id);
    if (is_inside(id)) return refuse("a constant in between");
    if (type.dtype() != out_.dtype) {
      return refuse("an operand is {}, the convolution {}", to_string(type.dtype()),
                    to_string(out_.dtype));
    }
    if (auto why = check_sizes(type)) return {Unexpected<Refusal>{*why}};
    const Shape& whole = f_.type(core_).shape();
    if (type.rank() > whole.size()) return refuse("an operand has more dimensions than the result");
    Shape shape = type.shape();
    if (is_vector) shape.resize(whole.size() - layout_.find('C'), Dim(1));
    shape.insert(shape.begin(), whole.size() - shape.size(), Dim(1));
    const View view = view_of(shape, layout_);
    // It fails when it runs: "!getAlpha2().isZero()".
    for (const Operand& operand : out_.operands) {
      if (operand.value == id) return refuse("cuDNN reads no tensor in two places of a graph");
    }
    out_.operands.push_back({id, type.dtype(), view});
    return out_.operands.size() - 1;
  }

  // cuDNN has kernels for a tensor of the result's size and then a bias, not the other way round.
  // Sums in between are float32.
  void add_whole_tensors_first() {
    auto& steps = out_.steps;
    const auto is_sum = [](const Step& s) { return s.mode == "add"; };
    for (auto begin = steps.begin(); begin != steps.end();) {
      begin = std::find_if(begin, steps.end(), is_sum);
      const auto end = std::find_if_not(begin, steps.end(), is_sum);
      std::stable_partition(begin, end, [&](const Step& s) {
        return out_.operands[*s.operand].view.dims == out_.result.dims;
      });
      begin = end;
    }
  }

  const relay::Match& m_;
  const Function& f_;
  NodeId core_;
  std::string_view layout_;  // of image and result
  Convolution out_;
};

}  // namespace

Expected<Convolution, Refusal> describe_convolution(const relay::Match& match,
                                                    const Target& target) {
  return Describer(match, target).run();
}

}  // namespace tessera::backends::cudnn
