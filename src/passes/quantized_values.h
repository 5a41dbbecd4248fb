// SPDX-License-Identifier: Apache-2.0
// Values of eight bits that a model makes wider before it multiplies them, for
// the passes that multiply integers.
#pragma once

#include <optional>
#include <string_view>

#include "constants/pool.h"
#include "relay/operator.h"
#include "relay/rewrite.h"

namespace tessera::passes {

// (x - zero) * scale in a wider type, x of eight bits. Without a zero point, and where the wider
// type is int32 without a scale, those are invalid.
struct Quantized {
  relay::NodeId x, zero, scale;
};

// Scales that are far from where products with eight bits overflow, or they or their reciprocals
// are none of float32's normal numbers.
inline constexpr double kLeastScale = 1e-30, kMostScale = 1e30;

bool has_one_element(const Type& type);
// No more than int32 holds, for which floats would have room.
bool fits_int32(const Dim& terms);

class QuantizedValues {
 public:
  QuantizedValues(const relay::Function& f, const ConstantPool& pool,
                  const relay::OperatorTable& operators)
      : f_(f), pool_(pool), operators_(operators) {}

  const relay::Function& function() const { return f_; }

  // What the node is in that type, int32 or float32.
  std::optional<Quantized> find(relay::NodeId id, DType wide) const;
  // The constant that a few views and casts of it come from.
  const Tensor* constant(relay::NodeId id) const;
  // That of a constant of one element.
  std::optional<double> number(relay::NodeId id) const;
  bool has_zero_point(const Quantized& q) const { return q.zero && !holds_only(q.zero, 0); }
  // With this zero point uint8 is int8 plus 128.
  bool is_offset_int8(const Quantized& q) const;
  // Can the product be one of integers of eight bits? Of the weight only a zero point that makes it
  // int8, and of the other one a number of its own type that the sums of a constant weight account
  // for.
  bool suits_integers(const Quantized& x, const Quantized& weight) const;
  // Is it a whole number that x of this type may be?
  bool is_zero_point_of(relay::NodeId zero, DType narrow) const;
  // Has it one scale, or one for each element of that dimension?
  bool has_scale_along(const Quantized& q, std::size_t axis) const;

  // Calls in the new function.
  relay::NodeId call(relay::Copier& c, std::string_view op,
                     std::initializer_list<relay::NodeId> operands, relay::Attrs attrs = {}) const {
    return c.builder().call(*operators_.find(op), operands, std::move(attrs));
  }
  relay::NodeId cast(relay::Copier& c, relay::NodeId x, DType dtype) const {
    return call(c, "cast", {x}, {{"dtype", dtype}});
  }
  // A scalar of an old node of one element, else a vector.
  relay::NodeId flat(relay::Copier& c, relay::NodeId old) const;
  // x as it is, or that of uint8 with the zero point 128 as int8.
  relay::NodeId stored(relay::Copier& c, const Quantized& q) const;
  // What the zero point of x adds to the sums: the sum of the stored weight along `axes`, times the
  // zero point.
  relay::NodeId offset(relay::Copier& c, const Quantized& x, relay::NodeId weight,
                       std::vector<std::int64_t> axes) const;
  // The product of both scales: a scalar or a vector.
  relay::NodeId scale(relay::Copier& c, const Quantized& x, const Quantized& weight) const;

 private:
  bool holds_only(relay::NodeId id, double value) const;
  relay::NodeId source(relay::NodeId id, bool up_to_bytes) const;

  const relay::Function& f_;
  const ConstantPool& pool_;
  const relay::OperatorTable& operators_;
};

// The call of nn.conv2d as one of integers, with zero points and scales after it; nothing where
// that is not possible. A zero point other than zero is written around the image, where the call
// has zeros once it is subtracted.
std::optional<relay::NodeId> integer_convolution(relay::Copier& c, const QuantizedValues& values,
                                                 relay::NodeId id);

}  // namespace tessera::passes
