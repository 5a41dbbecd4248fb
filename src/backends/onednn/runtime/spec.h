// SPDX-License-Identifier: Apache-2.0
// One kernel node of the JSON graph (docs/backends.md), read into plain data.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "backends/onednn/runtime/api.h"
#include "runtime/json_graph.h"

namespace tessera::backends::onednn {

using runtime::JsonEntry;
using runtime::JsonGraph;
using runtime::JsonNode;
using runtime::TextBuffer;

struct Dims {
  std::int32_t count = 0;
  dnnl_dims_t at = {};

  bool is_empty() const { return std::find(at, at + count, 0) != at + count; }
  bool operator==(const Dims& other) const {
    return std::equal(at, at + count, other.at, other.at + other.count);
  }
};

enum class KernelKind : std::uint8_t {
  kMatmul,
  kConvolution,
  kDeconvolution,
  kPooling,
  kSoftmax,
  kLayerNorm,
  kEltwise,
  kBinary,
  kConcat
};

enum class Role : std::uint8_t {
  kSource,
  kSecondSource,
  kWeights,
  kBias,
  kScale,
  kShift,
  kZeroPoint,
  kWeightScale,
  kPostOp
};

// A value as the primitive sees it. With strides it is a view of the value's row-major bytes;
// without, the primitive may have it in any layout.
struct OperandSpec {
  JsonEntry value = {};
  Role role = Role::kSource;
  Dims dims;
  Dims strides;
  dnnl_data_type_t dtype = dnnl_f32;  // that the primitive reads
  bool is_zeros = false;              // not the value but zeros: see Plan::without_empty_sum
  bool is_view() const { return strides.count == dims.count && dims.count > 0; }
  bool is_bytes() const { return dtype == dnnl_u8 || dtype == dnnl_s8; }
  void become_zeros() {
    is_zeros = true;
    strides.count = 0;
  }
};

struct PostOpSpec {
  dnnl_alg_kind_t algorithm = dnnl_alg_kind_undef;
  std::int32_t operand = -1;  // of a binary one
  float alpha = 0, beta = 0;
};

inline constexpr std::int32_t kMaxOperands = 64;
inline constexpr std::int32_t kMaxPostOps = 8;

struct KernelSpec {
  KernelKind kind = KernelKind::kMatmul;
  OperandSpec operands[kMaxOperands];
  std::int32_t operand_count = 0;
  Dims result, result_strides;
  PostOpSpec post_ops[kMaxPostOps];
  std::int32_t post_op_count = 0;
  Dims strides, dilation, padding_begin, padding_end, window;
  dnnl_alg_kind_t algorithm = dnnl_alg_kind_undef;
  std::int32_t axis = 0;
  float alpha = 0, beta = 0, epsilon = 0;
  dnnl_data_type_t dtype = dnnl_f32;  // the result's

  bool is_convolution() const {
    return kind == KernelKind::kConvolution || kind == KernelKind::kDeconvolution;
  }
  bool makes_floats() const { return dtype == dnnl_f32 || dtype == dnnl_bf16 || dtype == dnnl_f16; }
  // Does it multiply integers of eight bits, whose sums are to be exact?
  bool is_integer() const {
    return operand_count > 0 && operands[0].is_bytes() &&
           (is_convolution() || kind == KernelKind::kMatmul);
  }
  bool result_is_view() const { return result_strides.count == result.count && result.count > 0; }
  // The first operand of that role, or -1.
  std::int32_t find(Role role) const;
};

// False: `error` says what is wrong with the node.
[[nodiscard]] bool read_spec(const JsonGraph& graph, const JsonNode& node, KernelSpec* spec,
                             TextBuffer* error);

// dnnl_data_type_undef for what the back end does not compute in.
dnnl_data_type_t parse_data_type(std::string_view text);

// The name of an algorithm in the JSON graph: "eltwise_relu", "binary_add", "pooling_max", ...
dnnl_alg_kind_t parse_algorithm(std::string_view name);

}  // namespace tessera::backends::onednn
