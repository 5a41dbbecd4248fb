// SPDX-License-Identifier: Apache-2.0
// RotaryEmbedding: ONNX's, and onnxruntime's, whose inputs have another order.
#include "import/converters.h"
#include "import/rotary.h"

namespace tessera::import {
namespace {

// Each head of [batch, row, element] or [batch, head, row, element], turned by the angles of its
// row.
Value rotated(Value x, std::int64_t num_heads, const Angles& angles) {
  if (x.rank() == 4) return rotate(x, for_heads(angles, angles.cos.rank() - 2));
  return rotate(x.split(2, num_heads), for_heads(angles, angles.cos.rank() - 1)).merge(2, 4);
}

void check_input(Node& n, Value x) {
  if (x.rank() == 3 || x.rank() == 4) return;
  n.invalid(Code::kShapeMismatch,
            fmt::format("its input has the shape {}, not three or four dimensions",
                        to_string(x.shape())));
}

// The attribute repeats what the tables say.
void check_width(Node& n, Value cos) {
  const std::int64_t width = n.int_attr("rotary_embedding_dim", 0);
  const std::int64_t pairs = n.size(cos, cos.rank() - 1);
  if (width == 0 || (width % 2 == 0 && width / 2 == pairs)) return;
  n.invalid(Code::kShapeMismatch,
            fmt::format("its rotary_embedding_dim is {}, and there are angles for {} pairs", width,
                        pairs));
}

// Without rotary_embedding_dim whole heads are turned.
void check_whole_heads(Node& n, Value x, Value cos) {
  if (n.int_attr("rotary_embedding_dim", 0) != 0) return;
  const std::int64_t heads = x.rank() == 3 ? n.int_attr("num_heads", 0) : 1;
  if (heads < 1) n.invalid(Code::kWrongAttribute, fmt::format("its num_heads is {}", heads));
  const std::int64_t width = x.size(x.rank() - 1) / heads, pairs = n.size(cos, cos.rank() - 1);
  if (width % 2 == 0 && width / 2 == pairs) return;
  n.invalid(Code::kShapeMismatch,
            fmt::format("there are angles for {} pairs of heads of {} elements", pairs, width));
}

// Without positions the tables have the rows' own angles: [batch, row, pair].
std::vector<NodeId> convert_rotary(Node& n) {
  const Value x = input(n, 0), cos = input(n, 1), sin = input(n, 2);
  const bool interleaved = n.flag_attr("interleaved", false);
  const std::int64_t heads = n.int_attr("num_heads", 0);
  check_input(n, x);
  const Angles angles = n.has_input(3) ? angles_at(input(n, 3), cos, sin, interleaved)
                                       : Angles{cos, sin, interleaved};
  if (angles.cos.rank() != 3 || angles.sin.rank() != 3) {
    n.invalid(Code::kShapeMismatch, "its angles have not the three dimensions batch, row and pair");
  }
  check_width(n, cos);
  check_whole_heads(n, x, cos);
  return {rotated(x, heads, angles)};
}

// Positions are of each row, or one number: that of the first row.
std::vector<NodeId> convert_contrib_rotary(Node& n) {
  const Value x = input(n, 0), cos = input(n, 2), sin = input(n, 3);
  check_input(n, x);
  if (n.flag_attr("is_packed_batching", false)) n.unsupported("is_packed_batching = 1");
  if (n.float_attr("scale", 1) != 1) n.unsupported("a scale other than 1");
  check_width(n, cos);
  Value positions = input(n, 1);
  if (positions.rank() == 1) {
    positions = iota_along(x, x.rank() - 2) + positions.reshape({}).cast(kInt64);
  }
  std::int64_t heads = n.int_attr("num_heads", 0);
  if (x.rank() == 3 && heads == 0) {
    const std::int64_t pairs = n.size(cos, 1);
    if (pairs == 0) n.invalid(Code::kShapeMismatch, "neither num_heads nor angles tell its heads");
    heads = x.size(2) / 2 / pairs;
  }
  return {rotated(x, heads, angles_at(positions, cos, sin, n.flag_attr("interleaved", false)))};
}

constexpr Converter kRotaryTable[] = {
    {"RotaryEmbedding", 23, convert_rotary},
    {"com.microsoft.RotaryEmbedding", 1, convert_contrib_rotary},
};

}  // namespace

extern const std::span<const Converter> rotary_converters;
const std::span<const Converter> rotary_converters = kRotaryTable;

}  // namespace tessera::import
