// SPDX-License-Identifier: Apache-2.0
#include "ops/records/block_columns.h"
#include "ops/records/fragment_elements.h"

namespace tessera::ops {
namespace {

Result<Type> infer_unpack_fragments(const InferArgs& args) {
  const auto p = relay::read_attrs<BlockColumnsAttrs>(args.attrs);
  if (p.terms < 0) return refuse(args, Code::kWrongAttribute, "has {} rows", p.terms);
  TESSERA_TRY_VOID(expect_block_columns(args, p, 0, Dim(p.terms), WordOrder::kFragments));
  return tensor_type({Dim(p.terms), Dim(p.units)}, kFloat32);
}

}  // namespace

constexpr Operator kUnpackFragments{
    .name = "qnn.unpack_fragments",
    .doc =
        "y[k, n] = (q[k, n] - zero_point) * scale, the matrix that `qnn.dense_fragments` "
        "multiplies by   weight: int32[tiles, steps, 128], scale: F[tiles, blocks, 16], "
        "zero_point: G[] or G[tiles, blocks, 16] -> float32[terms, units]; F and G are float32, "
        "float16 or bfloat16",
    .operands = {"weight", "scale", "zero_point"},
    .attrs = relay::attr_schema<BlockColumnsAttrs>,
    .pattern = OpPattern::kInjective,
    .infer = infer_unpack_fragments,
    .eval = [](const EvalArgs& args) -> std::vector<Tensor> {
      const auto p = relay::read_attrs<BlockColumnsAttrs>(args.attrs);
      return {tensor_of(args.result, block_columns(args, p, 0, p.terms, WordOrder::kFragments))};
    },
    .compute =
        [](const ComputeArgs& args) {
          const auto p = relay::read_attrs<BlockColumnsAttrs>(args.attrs);
          return define(args, "y",
                        [&](const Indices& i) { return fragment_element(args, p, 0, i[0], i[1]); });
        },
    .samples = {"qnn.unpack_fragments(int32[1,2,128]{-2147483648..2147483647}, float32[1,1,16], "
                "float32[]=8, units=16, block_size=128, terms=128)",
                "qnn.unpack_fragments(int32[2,1,128]{-2147483648..2147483647}, float16[2,2,16], "
                "bfloat16[2,2,16], units=19, terms=40)",
                "qnn.unpack_fragments(int32[1,2,128]{-2147483648..2147483647}, float32[1,2,16], "
                "float32[1,2,16], units=5, bits=8, terms=50)",
                "qnn.unpack_fragments(int32[1,2,128]{-2147483648..2147483647}, float32[1,5,16], "
                "float32[1,5,16], units=16, bits=2, terms=150)"},
};

}  // namespace tessera::ops
