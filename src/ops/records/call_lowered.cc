// SPDX-License-Identifier: Apache-2.0
#include "ops/records/annotation.h"

namespace tessera::ops {
namespace {

Result<Type> infer_call_lowered(const InferArgs& args) {
  const Type& callee = args.operands[0];
  if (!callee.is_function()) {
    return refuse(args, Code::kTypeMismatch, "needs a function as operand 1, found {}",
                  to_string(callee));
  }
  const Type& given = args.operands[1];
  const std::size_t count = given.is_tuple() ? given.fields().size() : 0;
  if (!given.is_tuple() || count != callee.params().size()) {
    return refuse(args, Code::kWrongArity, "needs a tuple of {} arguments, found {}",
                  callee.params().size(), to_string(given));
  }
  return callee.result();
}

}  // namespace

constexpr Operator kCallLowered{
    .name = "call_lowered",
    .doc =
        "A call of a function that is lowered already, with its arguments as a tuple"
        "   func: fn(A...) -> R, args: (A...) -> R",
    .operands = {"func", "call_args"},
    .takes_tuples = true,
    .attrs = relay::attr_schema<CallLoweredAttrs>,
    .pattern = OpPattern::kOpaque,
    .infer = infer_call_lowered,
};

}  // namespace tessera::ops
