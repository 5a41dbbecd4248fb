// SPDX-License-Identifier: Apache-2.0
// A composite in cuDNN's terms, whichever kind it is: what it reads, its operations, and all that
// plans, graphs, records and measuring ask of it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "relay/patterns/pattern_table.h"
#include "types/type.h"

namespace tessera::backends::cudnn {

// How cuDNN sees a tensor: what is repeated along a dimension is one along it.
struct View {
  std::vector<std::int64_t> dims, strides;
  bool operator==(const View&) const = default;
};
View packed(std::vector<std::int64_t> dims);  // the last dimension beside each other
std::int64_t count_of(const View& view);
// How many elements lie from its first to its last one, those between that are not its own, too.
std::int64_t reach_of(const View& view);
// Where an element of a tensor lies, by its index along what the tensor is broadcast to.
std::int64_t place(const View& view, const std::vector<std::int64_t>& index);
std::string text_of(const View& view);  // "2x8x6x5@240,1,40,8"

struct Operand {
  relay::NodeId value;
  DType dtype;
  View view;  // without dimensions: it is read through views alone
};

// An operation, as runtime/operation_graph.cc names it, or a number or a view.
struct Operation {
  using Attributes = std::map<std::string, std::vector<std::string>>;

  std::string name;
  std::vector<std::size_t> inputs;  // operands, and after them what the operations give
  Attributes attributes;
  View view;  // of what it gives
  DType dtype;
};

// Where a `view` begins in its input.
std::int64_t offset_bytes(const Operation& view);

struct Region {
  // The element `at` of operand `operand`, in the order in which they lie.
  using Read = std::function<double(std::size_t operand, std::int64_t at)>;

  std::vector<Operand> operands;      // each value once
  std::vector<Operation> operations;  // the last one gives the result
  DType dtype;
  bool tf32 = false;             // may float32 be multiplied so?
  bool runtime_engines = false;  // may cuDNN compile code for it?
  std::string sizes;             // for people: "8x64x56x56 by 64x64x3x3 strides 1x1"
  std::string workload;          // all that plans depend on: equal text, equal work
  // One element of the result by the plain definition, in float64.
  std::function<double(const Read& read, const std::vector<std::int64_t>& index)> reference;
  std::vector<double> scales;  // of the numbers that each operand is measured with
  std::size_t coldest = 1;     // the operand that is not in a cache when it is read

  const View& result() const { return operations.back().view; }
  bool multiplies_tf32() const { return tf32 && dtype == kFloat32; }
  // Adds an operation; the number of what it gives.
  std::size_t add(Operation operation);
  // A number of float32, which cuDNN is given with each run.
  std::size_t add_number(double value);
};

// Of the types that cuDNN has engines for?
std::optional<relay::Refusal> check_dtype(DType dtype, const char* what);
// Known and not empty; for what lies in memory, not too many elements either.
std::optional<relay::Refusal> check_known(const Type& type);
std::optional<relay::Refusal> check_sizes(const Type& type);

}  // namespace tessera::backends::cudnn
