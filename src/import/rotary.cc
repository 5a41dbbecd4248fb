// SPDX-License-Identifier: Apache-2.0
#include "import/rotary.h"

#include "import/indices.h"

namespace tessera::import {
namespace {

// Every second element of the first `end` of the last dimension.
Value every_second(Value x, std::int64_t begin, std::int64_t end) {
  return x.apply("strided_slice", {{"begin", Ints{begin}},
                                   {"end", Ints{end}},
                                   {"strides", Ints{2}},
                                   {"axes", Ints{x.rank() - 1}}});
}

}  // namespace

Value rotate(Value heads, const Angles& angles) {
  Node& n = heads.node();
  const std::int64_t last = heads.rank() - 1, width = heads.size(last);
  const std::int64_t pairs = angles.cos.size(angles.cos.rank() - 1);
  if (angles.sin.size(angles.sin.rank() - 1) != pairs || pairs > width / 2) {
    n.invalid(Code::kShapeMismatch,
              fmt::format("heads of {} elements cannot be turned by angles of the shapes {} and {}",
                          width, to_string(angles.cos.shape()), to_string(angles.sin.shape())));
  }
  const bool mixed = angles.interleaved;
  const Value a = mixed ? every_second(heads, 0, 2 * pairs) : heads.slice(last, 0, pairs);
  const Value b = mixed ? every_second(heads, 1, 2 * pairs) : heads.slice(last, pairs, 2 * pairs);
  const Value x = a * angles.cos - b * angles.sin, y = a * angles.sin + b * angles.cos;
  std::vector<Value> parts = {x, y};
  if (mixed) parts = {stack(n, {x, y}, last + 1).merge(last, last + 2)};
  if (2 * pairs < width) parts.push_back(heads.slice(last, 2 * pairs, width));
  return concat(n, parts, last);
}

Angles angles_at(Value positions, Value cos, Value sin, bool interleaved) {
  Node& n = cos.node();
  if (cos.rank() != 2 || sin.rank() != 2) {
    n.invalid(Code::kShapeMismatch,
              fmt::format("its tables of angles have the shapes {} and {}, not two dimensions",
                          to_string(cos.shape()), to_string(sin.shape())));
  }
  const Value at(n, checked_indices(n, positions, cos, {0}));
  return {cos.take(at, 0, "wrap"), take_checked(sin, positions, 0), interleaved};
}

Angles for_heads(const Angles& angles, std::int64_t axis) {
  return {angles.cos.expand_dims(axis), angles.sin.expand_dims(axis), angles.interleaved};
}

}  // namespace tessera::import
