// SPDX-License-Identifier: Apache-2.0
#include "backends/onednn/runtime/spec.h"

#include <charconv>
#include <cstdio>

namespace tessera::backends::onednn {
namespace {

template <class T>
struct Named {
  std::string_view name;
  T value;
};

constexpr Named<KernelKind> kKinds[] = {
    {"matmul", KernelKind::kMatmul},
    {"convolution", KernelKind::kConvolution},
    {"deconvolution", KernelKind::kDeconvolution},
    {"pooling", KernelKind::kPooling},
    {"softmax", KernelKind::kSoftmax},
    {"layer_norm", KernelKind::kLayerNorm},
    {"eltwise", KernelKind::kEltwise},
    {"binary", KernelKind::kBinary},
    {"concat", KernelKind::kConcat},
};

constexpr Named<Role> kRoles[] = {
    {"source", Role::kSource},        {"second_source", Role::kSecondSource},
    {"weights", Role::kWeights},      {"bias", Role::kBias},
    {"scale", Role::kScale},          {"shift", Role::kShift},
    {"zero_point", Role::kZeroPoint}, {"weight_scale", Role::kWeightScale},
    {"post_op", Role::kPostOp},
};

constexpr Named<dnnl_alg_kind_t> kAlgorithms[] = {
    {"eltwise_relu", dnnl_eltwise_relu},
    {"eltwise_clip", dnnl_eltwise_clip},
    {"eltwise_tanh", dnnl_eltwise_tanh},
    {"eltwise_logistic", dnnl_eltwise_logistic},
    {"eltwise_elu", dnnl_eltwise_elu},
    {"eltwise_gelu_erf", dnnl_eltwise_gelu_erf},
    {"eltwise_gelu_tanh", dnnl_eltwise_gelu_tanh},
    {"eltwise_swish", dnnl_eltwise_swish},
    {"eltwise_hardswish", dnnl_eltwise_hardswish},
    {"eltwise_hardsigmoid", dnnl_eltwise_hardsigmoid},
    {"eltwise_linear", dnnl_eltwise_linear},
    {"eltwise_round", dnnl_eltwise_round},
    {"binary_add", dnnl_binary_add},
    {"binary_mul", dnnl_binary_mul},
    {"binary_div", dnnl_binary_div},
    {"pooling_max", dnnl_pooling_max},
    {"pooling_avg_include_padding", dnnl_pooling_avg_include_padding},
    {"pooling_avg_exclude_padding", dnnl_pooling_avg_exclude_padding},
    {"softmax_accurate", dnnl_softmax_accurate},
    {"softmax_log", dnnl_softmax_log},
};

template <class T, std::size_t N>
bool find(const Named<T> (&table)[N], std::string_view name, T* value) {
  for (const Named<T>& entry : table) {
    if (entry.name == name) {
      *value = entry.value;
      return true;
    }
  }
  return false;
}

// A reader of one node's attributes that remembers the first thing wrong.
class Reader {
 public:
  Reader(const JsonGraph& graph, const JsonNode& node, TextBuffer* error)
      : graph_(graph), node_(node), error_(error) {}

  bool fail(const char* what) {
    if (ok_) error_->add("node `%s` of the graph: %s", node_.name.data(), what);
    return ok_ = false;
  }
  bool ok() const { return ok_; }

  Dims dims(const char* name) {
    Dims dims;
    const std::uint32_t count = graph_.attr_size(node_, name);
    if (count > DNNL_MAX_NDIMS) fail("more dimensions than oneDNN has");
    for (std::uint32_t i = 0; ok_ && i < count; ++i) {
      dims.at[dims.count++] = integer(name, i);
    }
    return dims;
  }
  Dims dims_of(const char* prefix, std::int32_t i, const char* suffix) {
    char name[48];
    std::snprintf(name, sizeof name, "%s%d%s", prefix, i, suffix);
    return dims(name);
  }
  std::string_view text(const char* name, std::uint32_t i = 0) const {
    return graph_.attr_text(node_, name, i);
  }
  std::uint32_t size(const char* name) const { return graph_.attr_size(node_, name); }
  float number(const char* name, std::uint32_t i = 0) const {
    const std::string_view digits = text(name, i);
    float value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);  // knows no locale
    return value;
  }
  std::int64_t integer(const char* name, std::uint32_t i = 0) {
    std::int64_t value = 0;
    if (!graph_.attr_int(node_, name, &value, i)) fail("a size has no value");
    return value;
  }

 private:
  const JsonGraph& graph_;
  const JsonNode& node_;
  TextBuffer* error_;
  bool ok_ = true;
};

// A zero point of eight bits is read as the library wants it.
dnnl_data_type_t read_data_type(Reader& in, const JsonGraph& graph, const OperandSpec& operand) {
  const dnnl_data_type_t dtype =
      parse_data_type(graph.dtype(graph.nodes()[operand.value.node], operand.value.index));
  if (dtype == dnnl_data_type_undef) in.fail("an operand of an unknown data type");
  return operand.role == Role::kZeroPoint ? dnnl_s32 : dtype;
}

void read_operands(Reader& in, const JsonGraph& graph, const JsonNode& node, KernelSpec* spec) {
  if (node.input_count > kMaxOperands) {
    in.fail("too many inputs");
    return;
  }
  for (std::uint32_t i = 0; in.ok() && i < node.input_count; ++i) {
    OperandSpec& operand = spec->operands[spec->operand_count++];
    operand.value = node.inputs[i];
    if (!find(kRoles, in.text("roles", i), &operand.role)) in.fail("an unknown role");
    operand.dtype = read_data_type(in, graph, operand);
    operand.dims = in.dims_of("operand", i, "_dims");
    operand.strides = in.dims_of("operand", i, "_strides");
    if (operand.dims.count == 0) in.fail("an operand has no dimensions");
  }
}

// Four texts each: algorithm, operand (-1: none), alpha, beta.
void read_post_ops(Reader& in, KernelSpec* spec) {
  const std::uint32_t texts = in.size("post_ops");
  if (texts % 4 != 0 || texts / 4 > kMaxPostOps) {
    in.fail("wrong number of post-operations");
    return;
  }
  for (std::uint32_t i = 0; in.ok() && i < texts; i += 4) {
    PostOpSpec& op = spec->post_ops[spec->post_op_count++];
    op.algorithm = parse_algorithm(in.text("post_ops", i));
    op.operand = static_cast<std::int32_t>(in.integer("post_ops", i + 1));
    op.alpha = in.number("post_ops", i + 2);
    op.beta = in.number("post_ops", i + 3);
    if (op.algorithm == dnnl_alg_kind_undef) in.fail("an unknown post-operation");
    if (op.operand >= spec->operand_count) in.fail("a post-operation names no operand");
  }
}

}  // namespace

std::int32_t KernelSpec::find(Role role) const {
  for (std::int32_t i = 0; i < operand_count; ++i) {
    if (operands[i].role == role) return i;
  }
  return -1;
}

bool read_spec(const JsonGraph& graph, const JsonNode& node, KernelSpec* spec, TextBuffer* error) {
  Reader in(graph, node, error);
  if (!find(kKinds, in.text("kernel"), &spec->kind)) in.fail("an unknown kernel");
  read_operands(in, graph, node, spec);
  spec->result = in.dims("result_dims");
  spec->result_strides = in.dims("result_strides");
  if (spec->result.count == 0) in.fail("the result has no dimensions");
  read_post_ops(in, spec);
  spec->strides = in.dims("strides");
  spec->dilation = in.dims("dilation");
  spec->padding_begin = in.dims("padding_begin");
  spec->padding_end = in.dims("padding_end");
  spec->window = in.dims("window");
  spec->algorithm = parse_algorithm(in.text("algorithm"));
  spec->axis = static_cast<std::int32_t>(in.integer("axis"));
  spec->alpha = in.number("alpha");
  spec->beta = in.number("beta");
  spec->epsilon = in.number("epsilon");
  spec->dtype = parse_data_type(graph.dtype(node, 0));
  if (spec->dtype == dnnl_data_type_undef) in.fail("an unknown data type");
  return in.ok();
}

dnnl_data_type_t parse_data_type(std::string_view text) {
  constexpr Named<dnnl_data_type_t> kTypes[] = {{"float32", dnnl_f32}, {"bfloat16", dnnl_bf16},
                                                {"float16", dnnl_f16}, {"int32", dnnl_s32},
                                                {"int8", dnnl_s8},     {"uint8", dnnl_u8}};
  dnnl_data_type_t dtype = dnnl_data_type_undef;
  find(kTypes, text, &dtype);
  return dtype;
}

dnnl_alg_kind_t parse_algorithm(std::string_view name) {
  dnnl_alg_kind_t algorithm = dnnl_alg_kind_undef;
  find(kAlgorithms, name, &algorithm);
  return algorithm;
}

}  // namespace tessera::backends::onednn
