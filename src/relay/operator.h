// SPDX-License-Identifier: Apache-2.0
// The record of an operator. `relay` knows operators through this alone; the records are in ops/.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "constants/tensor.h"
#include "diagnostics/diagnostic.h"
#include "relay/attributes.h"
#include "types/type.h"

namespace tessera::tir {
class TensorExpr;
class DimVars;
}  // namespace tessera::tir

namespace tessera::relay {

// How an operator may be fused (relay-spec 9.4). The letters are the specification's.
enum class OpPattern : std::uint8_t {
  kElemWise,    // E
  kBroadcast,   // B
  kInjective,   // I
  kCommReduce,  // R
  kOutFusable,  // A: the result may be followed by element-wise operators
  kTuple,       // a tuple in between
  kOpaque,      // O
};

// A short constexpr list.
template <class T, std::size_t N>
struct FixedList {
  T items[N] = {};
  std::size_t count = 0;
  constexpr FixedList() = default;
  constexpr FixedList(std::initializer_list<T> list) {
    for (const T& t : list) items[count++] = t;  // too many do not compile: index out of bounds
  }
  constexpr const T* begin() const { return items; }
  constexpr const T* end() const { return items + count; }
  constexpr std::size_t size() const { return count; }
};

// Two sizes that must be the same, which only a run can tell.
struct Agreement {
  Dim a, b;
  std::string what;  // "contraction sizes"
};
struct InferArgs {
  std::span<const Type> operands;         // all known
  std::span<const Tensor* const> values;  // per operand, its data where it is a constant; else null
  const Attrs& attrs;                     // normalised
  Location location;                      // of the call, for diagnostics
  std::string_view op_name = {};          // for messages of inference that operators share
  // Per operand, its elements as sizes where they follow from sizes of tensors (ops/size_values.h);
  // else null. Empty where nobody looked.
  std::span<const Shape* const> sizes = {};
  // Where inference notes what must agree at run time; null where nobody listens.
  std::vector<Agreement>* agreements = nullptr;
};
struct EvalArgs {
  std::span<const Tensor> operands;
  const Attrs& attrs;
  const Type& result;  // inferred; all dimensions known
};
struct ComputeArgs {
  std::span<const tir::TensorExpr> operands;
  std::span<const Type> operand_types;
  std::span<const Tensor* const> values;  // as in InferArgs
  const Attrs& attrs;
  const Type& result;
  tir::DimVars& dims;  // sizes that are no numbers, as variables
};
struct CostArgs {
  std::span<const Type> operands;
  const Attrs& attrs;
  const Type& result;
};

// What a shape function of the operator must be given for an operand.
enum class ShapeNeed : std::uint8_t { kNothing, kShape, kData };

// One per operator, constexpr, in ops/<name>.cc; derived from it: printer, parser, importer map,
// docs, fuzzer, conformance matrix, folding. A tuple operand (concatenate, stack) is one operand of
// tuple type; `eval` and `compute` receive its fields flattened in place.
struct Operator {
  std::string_view name = {};  // "nn.softmax"
  std::string_view doc = {};   // one paragraph: what, the shape equation, the source
  FixedList<std::string_view, 12> operands = {};  // names
  int optional_operands = 0;                      // how many of the last operands may be left out
  bool variadic = false;                          // the last operand may be repeated
  bool keeps_order = false;   // the result is the first operand's elements in another shape
  bool takes_tuples = false;  // operands may have tuple types (concatenate, annotations)
  const AttrSchema& (*attrs)() = attr_schema<NoAttrs>;
  OpPattern pattern = OpPattern::kOpaque;
  Result<Type> (*infer)(const InferArgs&) = nullptr;
  // Plain reference evaluation; a vector of the result's tensors (tuples flattened).
  std::vector<Tensor> (*eval)(const EvalArgs&) = nullptr;
  // The loop definition; same order. Null where `runtime_symbol` is set, or where
  // simplify-inference or decompose removes the operator before lowering.
  std::vector<tir::TensorExpr> (*compute)(const ComputeArgs&) = nullptr;
  // For an operator whose result's sizes depend on data: the sizes as definitions, int64[rank] for
  // each tensor of the result. They read operands of `shape_need` kData and sizes of all others.
  std::vector<tir::TensorExpr> (*shape)(const ComputeArgs&) = nullptr;
  // A function of runtime/operators/ (back-end calling convention) for what no loop nest can
  // express.
  std::string_view runtime_symbol = {};
  double (*flops)(const CostArgs&) = nullptr;  // null: one a result element
  ShapeNeed shape_need[4] = {ShapeNeed::kShape, ShapeNeed::kShape, ShapeNeed::kShape,
                             ShapeNeed::kShape};
  bool has_effect = false;  // random or stateful: neither folded nor shared nor removed
  FixedList<std::string_view, 6> onnx =
      {};  // ONNX operator types that map to it one to one (import/ has the others)
  // Small concrete calls: "nn.softmax(float32[2,5], axis=1)"; constants: "reshape(float32[4],
  // newshape=[2, 2])".
  FixedList<std::string_view, 12> samples = {};
};

// The operators there are; implemented by ops/.
class OperatorTable {
 public:
  virtual ~OperatorTable() = default;
  virtual const Operator* find(std::string_view name) const = 0;
  virtual std::span<const Operator* const> all() const = 0;  // sorted by name
};

}  // namespace tessera::relay
