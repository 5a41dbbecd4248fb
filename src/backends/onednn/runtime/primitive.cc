// SPDX-License-Identifier: Apache-2.0
#include "backends/onednn/runtime/primitive.h"

#include <string_view>

namespace tessera::backends::onednn {
namespace {

// Descriptors made along the way; the primitive descriptor keeps copies.
class Scratch {
 public:
  explicit Scratch(const Api& api) : api_(api) {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    for (std::int32_t i = 0; i < count_; ++i) api_.memory_desc_destroy(owned_[i]);
    if (attr_ != nullptr) api_.primitive_attr_destroy(attr_);
    if (post_ops_ != nullptr) api_.post_ops_destroy(post_ops_);
  }

  const_dnnl_memory_desc_t keep(dnnl_memory_desc_t desc) {
    if (desc != nullptr) owned_[count_++] = desc;
    return desc;
  }
  // Layout of operand `i`: chosen, a view's, or the library's choice.
  const_dnnl_memory_desc_t operand(const KernelSpec& spec, const LayoutChoice& choice,
                                   std::int32_t i) {
    if (i < 0) return nullptr;
    if (choice.operands[i] != nullptr) return choice.operands[i];
    const OperandSpec& operand = spec.operands[i];
    return keep(operand.is_view() ? make_strided(api_, operand.dims, operand.dtype, operand.strides)
                                  : make_any(api_, operand.dims, operand.dtype));
  }
  const_dnnl_memory_desc_t result(const KernelSpec& spec) {
    return keep(spec.result_is_view()
                    ? make_strided(api_, spec.result, spec.dtype, spec.result_strides)
                    : make_any(api_, spec.result, spec.dtype));
  }
  const_dnnl_primitive_attr_t attributes(const KernelSpec& spec, const LayoutChoice& choice) {
    note(api_.primitive_attr_create(&attr_));
    note(api_.primitive_attr_set_scratchpad_mode(attr_, dnnl_scratchpad_mode_user));
    if (spec.find(Role::kZeroPoint) >= 0) {
      note(api_.primitive_attr_set_zero_points_mask(attr_, DNNL_ARG_SRC, 0));
    }
    if (const std::int32_t scale = spec.find(Role::kWeightScale); scale >= 0) {
      note(api_.primitive_attr_set_scales_mask(attr_, DNNL_ARG_WEIGHTS, scale_mask(spec, scale)));
    }
    if (spec.post_op_count == 0) return attr_;
    note(api_.post_ops_create(&post_ops_));
    for (std::int32_t i = 0; i < spec.post_op_count; ++i) note(append(spec, choice, i));
    note(api_.primitive_attr_set_post_ops(attr_, post_ops_));
    return attr_;
  }
  // The first failure among the attributes: a primitive without them would be another one.
  dnnl_status_t status() const { return status_; }

 private:
  // The dimensions of the weights along which there is more than one scale: groups and channels of
  // a convolution, columns of a product.
  static int scale_mask(const KernelSpec& spec, std::int32_t scale) {
    if (spec.operands[scale].dims.at[0] == 1) return 0;
    const Dims& weights = spec.operands[spec.find(Role::kWeights)].dims;
    if (!spec.is_convolution()) return 1 << (weights.count - 1);
    return weights.count > spec.result.count ? 3 : 1;
  }
  dnnl_status_t append(const KernelSpec& spec, const LayoutChoice& choice, std::int32_t i) {
    const PostOpSpec& op = spec.post_ops[i];
    if (op.operand < 0) {
      return api_.post_ops_append_eltwise(post_ops_, op.algorithm, op.alpha, op.beta);
    }
    if (i == 0 && choice.sum_in_place) {
      return api_.post_ops_append_sum(post_ops_, 1.0f, 0, spec.dtype);
    }
    return api_.post_ops_append_binary(post_ops_, op.algorithm, operand(spec, choice, op.operand));
  }
  void note(dnnl_status_t status) {
    if (status_ == dnnl_success) status_ = status;
  }

  const Api& api_;
  dnnl_memory_desc_t owned_[kMaxOperands + kMaxPostOps + 2] = {};
  std::int32_t count_ = 0;
  dnnl_primitive_attr_t attr_ = nullptr;
  dnnl_post_ops_t post_ops_ = nullptr;
  dnnl_status_t status_ = dnnl_success;
};

dnnl_status_t describe_concat(const Api& api, dnnl_engine_t engine, const KernelSpec& spec,
                              const LayoutChoice& choice, Scratch& scratch,
                              dnnl_primitive_desc_t* desc) {
  const_dnnl_memory_desc_t sources[kMaxOperands];
  for (std::int32_t i = 0; i < spec.operand_count; ++i) {
    sources[i] = scratch.operand(spec, choice, i);
  }
  return api.concat_primitive_desc_create(desc, engine, scratch.result(spec), spec.operand_count,
                                          spec.axis, sources, scratch.attributes(spec, choice));
}

dnnl_status_t describe_normalization(const Api& api, dnnl_engine_t engine, const KernelSpec& spec,
                                     const_dnnl_memory_desc_t source,
                                     const_dnnl_memory_desc_t result,
                                     const_dnnl_primitive_attr_t attr,
                                     dnnl_primitive_desc_t* desc) {
  unsigned flags = dnnl_normalization_flags_none;
  if (spec.find(Role::kScale) >= 0) flags |= dnnl_use_scale;
  if (spec.find(Role::kShift) >= 0) flags |= dnnl_use_shift;
  return api.layer_normalization_forward_primitive_desc_create(
      desc, engine, dnnl_forward_inference, source, result, nullptr, spec.epsilon, flags, attr);
}

dnnl_status_t create(const Api& api, dnnl_engine_t engine, const KernelSpec& spec,
                     const LayoutChoice& choice, Scratch& scratch, dnnl_primitive_desc_t* desc) {
  if (spec.kind == KernelKind::kConcat) {
    return describe_concat(api, engine, spec, choice, scratch, desc);
  }
  const auto source = scratch.operand(spec, choice, spec.find(Role::kSource));
  const auto second = scratch.operand(spec, choice, spec.find(Role::kSecondSource));
  const auto weights = scratch.operand(spec, choice, spec.find(Role::kWeights));
  const auto bias = scratch.operand(spec, choice, spec.find(Role::kBias));
  const auto result = scratch.result(spec);
  const auto attr = scratch.attributes(spec, choice);
  const auto inference = dnnl_forward_inference;
  switch (spec.kind) {
    case KernelKind::kMatmul:
      return api.matmul_primitive_desc_create(desc, engine, source, weights, bias, result, attr);
    case KernelKind::kConvolution:
      return api.convolution_forward_primitive_desc_create(
          desc, engine, inference, dnnl_convolution_direct, source, weights, bias, result,
          spec.strides.at, spec.dilation.at, spec.padding_begin.at, spec.padding_end.at, attr);
    case KernelKind::kDeconvolution:
      return api.deconvolution_forward_primitive_desc_create(
          desc, engine, inference, dnnl_deconvolution_direct, source, weights, bias, result,
          spec.strides.at, spec.dilation.at, spec.padding_begin.at, spec.padding_end.at, attr);
    case KernelKind::kPooling:
      return api.pooling_forward_primitive_desc_create(
          desc, engine, inference, spec.algorithm, source, result, spec.strides.at, spec.window.at,
          spec.dilation.at, spec.padding_begin.at, spec.padding_end.at, attr);
    case KernelKind::kSoftmax:
      return api.softmax_forward_primitive_desc_create(desc, engine, inference, spec.algorithm,
                                                       source, result, spec.axis, attr);
    case KernelKind::kLayerNorm:
      return describe_normalization(api, engine, spec, source, result, attr, desc);
    case KernelKind::kEltwise:
      return api.eltwise_forward_primitive_desc_create(desc, engine, inference, spec.algorithm,
                                                       source, result, spec.alpha, spec.beta, attr);
    case KernelKind::kBinary:
      return api.binary_primitive_desc_create(desc, engine, spec.algorithm, source, second, result,
                                              attr);
    case KernelKind::kConcat:
      break;
  }
  return dnnl_invalid_arguments;
}

dnnl_primitive_desc_t describe_once(const Api& api, dnnl_engine_t engine, const KernelSpec& spec,
                                    const LayoutChoice& choice, dnnl_status_t* status) {
  Scratch scratch(api);
  dnnl_primitive_desc_t desc = nullptr;
  *status = create(api, engine, spec, choice, scratch, &desc);
  if (*status == dnnl_success) *status = scratch.status();
  if (*status == dnnl_success || desc == nullptr) return desc;
  api.primitive_desc_destroy(desc);
  return nullptr;
}

// oneDNN 3.2's deconvolution with strides for channels that lie innermost gives wrong sums on
// AVX-512 where channels and kernel are large, 256 channels and 4 x 4 for example.
bool computes_wrongly(const Api& api, const_dnnl_primitive_desc_t desc) {
  return implementation(api, desc).find("brgconv_strided") != std::string_view::npos;
}

double multiply_adds(const KernelSpec& convolution) {
  double results = 1, weights = 1;
  const Dims& w = convolution.operands[convolution.find(Role::kWeights)].dims;
  for (std::int32_t d = 0; d < w.count; ++d) weights *= static_cast<double>(w.at[d]);
  for (std::int32_t d = 0; d < convolution.result.count; ++d) {
    results *= static_cast<double>(convolution.result.at[d]);
  }
  return results * weights / static_cast<double>(convolution.result.at[1]);
}

// Do AMX's products of bytes pay? A unit that rested takes 20 to 60 us longer, which is what small
// convolutions between others take at all, and fewer rows than a tile has take as long as all.
bool suits_amx(const KernelSpec& spec) {
  constexpr double kLeastWork = 16e6;
  constexpr std::int64_t kRowsOfTile = 16;
  if (spec.is_convolution()) return multiply_adds(spec) >= kLeastWork;
  return spec.result.at[spec.result.count - 2] >= kRowsOfTile;
}

// Does the library compute sums of integers as they are, and fast? Without VNNI or AMX it adds
// pairs of products in 16 bits, which saturate, or halves the weights for it. Of its kernels for
// AMX those that are no "brg" are slower than VNNI's.
bool is_wanted(const Api& api, const_dnnl_primitive_desc_t desc, const KernelSpec& spec) {
  const std::string_view name = implementation(api, desc);
  if (name.find("amx") != std::string_view::npos) return name.starts_with("brg") && suits_amx(spec);
  return name.find("vnni") != std::string_view::npos || is_reference(api, desc);
}

// The library's first wanted implementation of integers from `desc` on, which it takes over.
dnnl_primitive_desc_t first_wanted(const Api& api, dnnl_primitive_desc_t desc,
                                   const KernelSpec& spec, dnnl_status_t* status) {
  while (!is_wanted(api, desc, spec)) {
    if (api.primitive_desc_next_impl(desc) == dnnl_success) continue;
    api.primitive_desc_destroy(desc);
    *status = dnnl_unimplemented;
    return nullptr;
  }
  return desc;
}

// The first of those for a source in blocks of channels that is right and not the reference; else
// the reference.
dnnl_primitive_desc_t describe_blocked(const Api& api, dnnl_engine_t engine, const KernelSpec& spec,
                                       const LayoutChoice& choice, dnnl_status_t* status) {
  const std::int32_t source = spec.find(Role::kSource);
  dnnl_primitive_desc_t found = nullptr;
  for (const int channels : {16, 8, 1}) {
    const dnnl_memory_desc_t layout =
        make_blocked(api, spec.operands[source].dims, spec.operands[source].dtype, channels);
    if (layout == nullptr) continue;
    LayoutChoice other = choice;
    other.operands[source] = layout;
    const dnnl_primitive_desc_t desc = describe_once(api, engine, spec, other, status);
    api.memory_desc_destroy(layout);
    if (desc == nullptr) continue;
    const bool is_best = !computes_wrongly(api, desc) && !is_reference(api, desc);
    const bool is_better = is_best || (found == nullptr && !computes_wrongly(api, desc));
    const dnnl_primitive_desc_t left = is_better ? found : desc;
    if (left != nullptr) api.primitive_desc_destroy(left);
    if (is_better) found = desc;
    if (is_best) break;
  }
  *status = found != nullptr ? dnnl_success : dnnl_unimplemented;
  return found;
}

}  // namespace

dnnl_primitive_desc_t describe(const Api& api, dnnl_engine_t engine, const KernelSpec& spec,
                               const LayoutChoice& choice, dnnl_status_t* status) {
  const dnnl_primitive_desc_t desc = describe_once(api, engine, spec, choice, status);
  if (desc == nullptr) return desc;
  if (spec.is_integer()) return first_wanted(api, desc, spec, status);
  if (!computes_wrongly(api, desc)) return desc;
  api.primitive_desc_destroy(desc);
  return describe_blocked(api, engine, spec, choice, status);
}

dnnl_primitive_desc_t describe_reorder(const Api& api, dnnl_engine_t engine,
                                       const_dnnl_memory_desc_t from, const_dnnl_memory_desc_t to,
                                       dnnl_status_t* status) {
  dnnl_primitive_attr_t attr = nullptr;
  *status = api.primitive_attr_create(&attr);
  if (*status != dnnl_success) return nullptr;
  api.primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
  dnnl_primitive_desc_t desc = nullptr;
  *status = api.reorder_primitive_desc_create(&desc, from, engine, to, engine, attr);
  api.primitive_attr_destroy(attr);
  return desc;
}

int argument(const KernelSpec& spec, std::int32_t i) {
  if (spec.kind == KernelKind::kConcat) return DNNL_ARG_MULTIPLE_SRC + i;
  switch (spec.operands[i].role) {
    case Role::kSource:
      return DNNL_ARG_SRC_0;
    case Role::kSecondSource:
      return DNNL_ARG_SRC_1;
    case Role::kWeights:
      return DNNL_ARG_WEIGHTS;
    case Role::kBias:
      return DNNL_ARG_BIAS;
    case Role::kScale:
      return DNNL_ARG_SCALE;
    case Role::kShift:
      return DNNL_ARG_SHIFT;
    case Role::kZeroPoint:
      return DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC;
    case Role::kWeightScale:
      return DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS;
    case Role::kPostOp:
      break;
  }
  for (std::int32_t op = 0; op < spec.post_op_count; ++op) {
    if (spec.post_ops[op].operand == i) {
      return DNNL_ARG_ATTR_MULTIPLE_POST_OP(op) | DNNL_ARG_SRC_1;
    }
  }
  return -1;
}

std::string_view implementation(const Api& api, const_dnnl_primitive_desc_t desc) {
  const char* name = nullptr;
  api.primitive_desc_query(desc, dnnl_query_impl_info_str, 0, &name);
  return name != nullptr ? name : "unknown";
}

bool is_reference(const Api& api, const_dnnl_primitive_desc_t desc) {
  const std::string_view name = implementation(api, desc);
  return name.substr(0, 3) == "ref" || name.find("+ref") != std::string_view::npos;
}

}  // namespace tessera::backends::onednn
