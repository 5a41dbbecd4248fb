// SPDX-License-Identifier: Apache-2.0
#include "backends/onednn/composites.h"

#include "backends/onednn/activation.h"
#include "backends/onednn/describe.h"

namespace tessera::backends::onednn {
namespace {

using relay::is_constant;
using relay::is_op;
using relay::Pattern;
using relay::wildcard;

Pattern constant_or_any(std::string capture) { return is_constant(capture) | wildcard(capture); }

Pattern with_bias(const Pattern& x) {
  return is_op("add", {x, is_constant()}) | is_op("nn.bias_add", {x, is_constant()});
}
// In both orders: the matcher takes the first operand that looks right, and in a chain of residuals
// that may be the wrong one.
struct Residual {
  Pattern after, before;
};
Residual with_residual(const Pattern& x) {
  return {is_op("add", {x, wildcard()}), is_op("add", {wildcard(), x})};
}
Pattern scaled(const Pattern& x) {
  return is_op("multiply", {x, is_constant()}) | is_op("divide", {x, is_constant()});
}
// Up to `depth` reshapes and transposes (and with `scales`, scalings) above x.
Pattern views(const Pattern& x, int depth, bool scales) {
  if (depth == 0) return x;
  const Pattern inner = views(x, depth - 1, scales);
  Pattern out = is_op("reshape", {inner}) | is_op("transpose", {inner}) |
                is_op("squeeze", {inner}) | is_op("expand_dims", {inner}) |
                is_op("nn.batch_flatten", {inner});
  if (scales) out = scaled(inner) | out;
  return out | x;
}
// At least one of them at the root.
Pattern some_views(const Pattern& x, int depth) {
  const Pattern inner = views(x, depth - 1, false);
  return is_op("reshape", {inner}) | is_op("transpose", {inner}) | is_op("squeeze", {inner}) |
         is_op("expand_dims", {inner});
}

// A list of composites under construction.
class Table {
 public:
  std::vector<Composite> entries;

  void add(std::string name, Pattern pattern,
           KernelOr (*describe)(const Subject&, std::string_view),
           std::string_view activation = {}) {
    entries.push_back({"onednn." + name, std::move(pattern), describe, activation});
  }
  void add_activated(const std::string& name, const Residual& sum,
                     KernelOr (*describe)(const Subject&, std::string_view)) {
    add_activated(name, sum.after, describe);
    add_activated(name, sum.before, describe);
  }
  // The pattern with each activation after it, then without one.
  void add_activated(const std::string& name, const Pattern& pattern,
                     KernelOr (*describe)(const Subject&, std::string_view)) {
    for (const Activation& a : activations()) {
      add(name + "_" + std::string(a.name), a.pattern(pattern), describe, a.name);
    }
    add(name, pattern, describe);
  }
};

void add_convolutions(Table& table) {
  for (const auto& [op, name] : {std::pair("nn.conv2d", "conv2d"), std::pair("nn.conv1d", "conv1d"),
                                 std::pair("nn.conv3d", "conv3d")}) {
    const Pattern core = is_op(op, {wildcard(), constant_or_any("weights")}, "core");
    const std::string base = name;
    table.add_activated(base + "_bias_add", with_residual(with_bias(core)), describe_convolution);
    table.add_activated(base + "_bias", with_bias(core), describe_convolution);
    table.add_activated(base + "_add", with_residual(core), describe_convolution);
    table.add_activated(base, core, describe_convolution);
  }
}

// What an integer of eight bits becomes before it is multiplied, less its zero point.
Pattern widened_bytes() {
  const Pattern bytes = is_op("cast", {wildcard()}), zero = is_op("cast", {wildcard()});
  return is_op("subtract", {bytes, is_constant() | zero | is_op("reshape", {zero})}) | bytes;
}

// Of float32 x: integers of eight bits.
Pattern requantised(const Pattern& x) {
  const Pattern whole = is_op("round", {is_op("divide", {x, is_constant()}) | x});
  const Pattern shifted = is_op("add", {whole, is_constant()}) | whole;
  const Pattern above = is_op("maximum", {shifted, is_constant()});
  return is_op("cast", {is_op("minimum", {above, is_constant()})});
}
// And back.
Pattern dequantised() {
  const Pattern wide = is_op("cast", {wildcard()});
  return is_op("multiply", {is_op("subtract", {wide, is_constant()}) | wide, is_constant()});
}

// Sums of integers, as they are, or with a bias and times a scale as floats, or rounded to integers
// of eight bits again.
void add_integers(Table& table, const std::string& name, const Pattern& core,
                  KernelOr (*describe)(const Subject&, std::string_view)) {
  const Pattern sums = is_op("add", {core, is_constant()}) | core;
  const Pattern scaled = is_op("multiply", {is_op("cast", {sums}), constant_or_any("")});
  const Pattern real = is_op("add", {scaled, is_constant()}) |
                       is_op("nn.bias_add", {scaled, is_constant()}) | scaled;
  const Pattern active = is_op("nn.relu", {real}) | real;
  table.add(name + "_requantised", requantised(active), describe);
  table.add(name + "_rescaled", active, describe);
  table.add(name, core, describe);
}

void add_integer_products(Table& table) {
  const auto core = [](const char* op) {
    return is_op(op, {widened_bytes(), is_constant()}, "core").has_dtype(kInt32);
  };
  for (const char* op : {"nn.conv2d", "nn.conv1d", "nn.conv3d"}) {
    add_integers(table, "integer_" + std::string(op).substr(3), core(op),
                 describe_integer_convolution);
  }
  for (const char* op : {"nn.matmul", "nn.dense"}) {
    add_integers(table, "integer_" + std::string(op).substr(3), core(op), describe_integer_product);
  }
}

// Residuals of models that are quantised from end to end.
void add_quantised_sums(Table& table) {
  const Pattern sum = is_op("add", {dequantised(), dequantised()}, "core");
  table.add("quantised_sum", requantised(is_op("nn.relu", {sum}) | sum), describe_quantised_sum);
}

// Without activations: after a deconvolution the library applies them without vectors, which takes
// longer than the deconvolution.
void add_deconvolutions(Table& table) {
  for (const auto& [op, name] : {std::pair("nn.conv2d_transpose", "conv2d_transpose"),
                                 std::pair("nn.conv1d_transpose", "conv1d_transpose"),
                                 std::pair("nn.conv3d_transpose", "conv3d_transpose")}) {
    const Pattern core = is_op(op, {wildcard(), constant_or_any("weights")}, "core");
    const std::string base = name;
    table.add(base + "_bias", with_bias(core), describe_deconvolution);
    table.add(base, core, describe_deconvolution);
  }
}

// Products with a weight: bias, then views that keep the order of the bytes, residual, activation.
void add_dense(Table& table) {
  const auto add = [&table](const std::string& base, const char* op, const Pattern& weights) {
    for (const int depth : {2, 1, 0}) {
      const Pattern core = is_op(op, {views(wildcard(), depth, false), weights}, "core");
      const Pattern biased = views(with_bias(core), 2, false);
      table.add_activated(base + "_bias_add", with_residual(biased), describe_matmul);
      table.add_activated(base + "_bias", biased, describe_matmul);
      table.add_activated(base + "_bias", with_bias(core), describe_matmul);
      table.add_activated(base + "_add", with_residual(views(core, 2, false)), describe_matmul);
      table.add_activated(base, core, describe_matmul);
    }
  };
  add("dense", "nn.dense", constant_or_any("weights"));
  add("matmul", "nn.matmul", is_constant("weights"));
}

// Products of two activations (attention): views and scalings around both factors and the result.
void add_batched(Table& table) {
  for (const int depth : {4, 3, 2, 1, 0}) {
    const Pattern a = views(wildcard(), depth, true), b = views(constant_or_any(""), depth, true);
    const Pattern core =
        is_op("nn.matmul", {a, b}, "core") | is_op("nn.batch_matmul", {a, b}, "core");
    const Pattern maybe_scaled = views(core, depth > 0 ? 1 : 0, true);
    for (const int last : {2, 1}) {
      table.add("batch_matmul_add", some_views(with_residual(maybe_scaled).after, last),
                describe_matmul);
      table.add("batch_matmul", some_views(maybe_scaled, last), describe_matmul);
    }
    table.add("batch_matmul_add", with_residual(maybe_scaled).after, describe_matmul);
    table.add("batch_matmul_scale", scaled(core), describe_matmul);
    table.add("batch_matmul", core, describe_matmul);
  }
}

void add_others(Table& table) {
  const Pattern any = wildcard();
  for (const char* op : {"nn.max_pool2d", "nn.avg_pool2d", "nn.global_avg_pool2d", "nn.max_pool1d",
                         "nn.avg_pool1d", "nn.max_pool3d", "nn.avg_pool3d"}) {
    table.add(std::string(op).substr(3), is_op(op, {any}, "core"), describe_pooling);
  }
  // Squeeze and excitation: an image's means, and a factor for each of its channels. In 16 bits the
  // library's sums are float32, too.
  const Pattern in_float32 = is_op("mean", {is_op("cast", {any})}, "core").has_dtype(kFloat32);
  table.add("image_mean", is_op("cast", {in_float32}) | is_op("mean", {any}, "core"),
            describe_image_mean);
  table.add("gate", is_op("multiply", {any, wildcard()}, "core"), describe_gate);
  const Activation& relu = *find_activation("relu");
  const Pattern scaled = is_op("multiply", {any, is_constant()}, "core");
  table.add("scale_shift_relu", relu.pattern(is_op("add", {scaled, is_constant()})),
            describe_binary, "relu");
  // The constant first, whichever operand it is: the matcher takes a wildcard in the order written.
  for (const Pattern& other : {is_constant(), wildcard()}) {
    table.add("add_relu", relu.pattern(is_op("add", {any, other}, "core")), describe_binary,
              "relu");
  }
  table.add("concatenate", is_op("concatenate", {relay::is_any_tuple()}, "core"), describe_concat);
  table.add("softmax", is_op("nn.softmax", {any}, "core"), describe_softmax);
  table.add("log_softmax", is_op("nn.log_softmax", {any}, "core"), describe_softmax);
  table.add("layer_norm",
            is_op("nn.layer_norm", {any, constant_or_any(""), constant_or_any("")}, "core"),
            describe_layer_norm);
}

std::vector<Composite> make_table() {
  Table table;
  add_integer_products(table);
  add_quantised_sums(table);
  add_convolutions(table);
  add_deconvolutions(table);
  add_dense(table);
  add_batched(table);
  add_others(table);
  return std::move(table.entries);
}

}  // namespace

std::span<const Composite> composites() {
  static const std::vector<Composite> table = make_table();
  return table;
}

KernelOr describe(const relay::IndexedGraph& graph, NodeId root, std::string_view composite,
                  const ConstantPool* pool, Match* match) {
  for (const Composite& entry : composites()) {
    if (entry.name != composite) continue;
    auto found = relay::match(graph, entry.pattern, root, pool);
    if (!found) continue;
    *match = std::move(*found);
    return entry.describe(Subject(*match), entry.activation);
  }
  return refuse("`{}` matches none of the back end's patterns", composite);
}

}  // namespace tessera::backends::onednn
