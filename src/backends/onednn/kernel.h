// SPDX-License-Identifier: Apache-2.0
// One primitive with all that decides it, on the compiler's side: what a match becomes, and what is
// written into the JSON graph (runtime/spec.h reads it).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "byoc/backend.h"
#include "byoc/region_sizes.h"
#include "byoc/view.h"
#include "relay/patterns/refuse.h"

namespace tessera::backends::onednn {

using byoc::Ints;
using byoc::Refusal;
using byoc::row_major_strides;
using byoc::View;
using relay::Match;
using relay::NodeId;
using relay::refuse;

// A value that the primitive reads. Without strides it may have any layout.
struct KernelOperand {
  NodeId value;  // an input of the match, or a constant inside
  std::string role;
  Shape dims, strides;
  std::optional<DType> stored = {};  // of a constant that is to be stored in another type
};

struct PostOp {
  std::string algorithm;
  int operand = -1;  // of a binary one: index into Kernel::operands
  double alpha = 0, beta = 0;
};

struct Kernel {
  std::string kind;  // "matmul", "convolution", ...
  std::vector<KernelOperand> operands;
  Shape result_dims, result_strides;
  std::vector<PostOp> post_ops;
  std::map<std::string, std::vector<std::string>> attributes;  // of this kind alone

  int add_operand(NodeId value, std::string role, View view);
  int add_operand(NodeId value, std::string role, Shape dims);  // in any layout
  const KernelOperand* find(std::string_view role) const;       // the first one; null: none
  void set(const std::string& name, const Ints& numbers);
  void set(const std::string& name, double number);
  void set(const std::string& name, std::string text);

  // Writes all sizes in terms of those that the region's tensors have. False: one is not known.
  [[nodiscard]] bool derive(const byoc::RegionSizes& sizes);
  std::map<std::string, std::vector<std::string>> json_attributes() const;
};

using KernelOr = Expected<Kernel, Refusal>;

// Questions about a match.
class Subject {
 public:
  explicit Subject(const Match& match) : match_(match), f_(*match.function) {}

  const Match& match() const { return match_; }
  std::span<const NodeId> operands(NodeId id) const { return f_.operands(id); }
  std::string_view op(NodeId id) const;  // "" for what is no operator's call
  bool is_inside(NodeId id) const;
  bool is_constant(NodeId id) const { return f_.as<relay::Constant>(id) != nullptr; }
  NodeId capture(std::string_view name) const { return match_.find(name); }
  // From a mean, or the square of that: norms are computed in one piece by generated code.
  bool is_deviation(NodeId id) const;

  // Needs the type to be known: refusal() has been asked.
  Shape shape(NodeId id) const;
  DType dtype(NodeId id) const;
  // The data of a constant; null if the module's pool is not at hand.
  const Tensor* tensor(NodeId id) const;
  // The value of a constant with one element.
  std::optional<double> scalar(NodeId id) const;

  // The attribute as given, or its default.
  Ints ints(NodeId id, std::string_view name) const;
  std::int64_t integer(NodeId id, std::string_view name) const;
  double number(NodeId id, std::string_view name) const;
  std::string text(NodeId id, std::string_view name) const;

  // Why no kernel can be made of these values at all: a size without a name, an empty tensor, ...
  std::optional<Refusal> size_refusal() const;
  // ... and another data type than that of the result, which is a float of 32 or 16 bits.
  std::optional<Refusal> refusal() const;
  // All values: what the match reads, and what it computes.
  std::vector<NodeId> values() const;

 private:
  const relay::AttrValue& attribute(NodeId id, std::string_view name) const;
  std::optional<Refusal> size_refusal_of(NodeId id) const;
  bool is_tensor(NodeId id) const;

  const Match& match_;
  const relay::Function& f_;
};

}  // namespace tessera::backends::onednn
