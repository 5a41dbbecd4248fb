// SPDX-License-Identifier: Apache-2.0
#include "ops/records/reshape.h"

#include <fmt/format.h>

#include "ops/attrs/shape.h"

namespace tessera::ops {
namespace {

// Reads `newshape` from left to right beside the operand's shape.
class ShapeReader {
 public:
  ShapeReader(const InferArgs& args, const ReshapeAttrs& attrs)
      : args_(args), attrs_(attrs), in_(args.operands[0].shape()) {}

  Result<Shape> read() {
    for (at_ = 0; at_ < attrs_.newshape.size(); ++at_) {
      const std::int64_t d = attrs_.newshape[at_];
      if (d > 0 || (d == 0 && attrs_.allowzero)) {
        out_.emplace_back(d);
        ++next_;
        continue;
      }
      TESSERA_TRY_VOID(read_code(d));
    }
    return fill_rest();
  }

 private:
  Result<void> read_code(std::int64_t code) {
    switch (code) {
      case 0:
        return copy_one();
      case -1:
        if (rest_) return refuse(args_, Code::kWrongAttribute, "newshape has -1 twice");
        rest_ = out_.size();
        out_.emplace_back(1);
        ++next_;
        return {};
      case -2:
        while (next_ < in_.size()) out_.push_back(in_[next_++]);
        return {};
      case -3:
        if (next_ + 2 > in_.size()) return too_short("-3");
        out_.push_back(in_[next_] * in_[next_ + 1]);
        next_ += 2;
        return {};
      case -4:
        return split();
      default:
        return refuse(args_, Code::kWrongAttribute, "newshape has {}, which means nothing", code);
    }
  }
  Result<void> copy_one() {
    if (next_ >= in_.size()) return too_short("0");
    out_.push_back(in_[next_++]);
    return {};
  }
  Result<void> split() {
    if (next_ >= in_.size() || at_ + 2 >= attrs_.newshape.size()) return too_short("-4");
    const Dim whole = in_[next_++];
    std::int64_t a = attrs_.newshape[++at_], b = attrs_.newshape[++at_];
    if ((a < 0 && b < 0) || a == 0 || b == 0) return too_short("-4");
    out_.push_back(a < 0 ? floor_div(whole, Dim(b)) : Dim(a));
    out_.push_back(b < 0 ? floor_div(whole, Dim(a)) : Dim(b));
    return {};
  }
  Unexpected<Diagnostics> too_short(std::string_view code) const {
    return refuse(args_, Code::kWrongAttribute,
                  "newshape has {} with no dimension of {} left for it", code, to_string(in_));
  }

  Result<Shape> fill_rest() {
    const Dim total = num_elements(in_);
    if (rest_) {
      const Dim others = num_elements(out_);
      if (others == Dim(0)) {
        return refuse(args_, Code::kShapeMismatch, "cannot infer -1 beside a dimension of 0");
      }
      const Dim left = floor_mod(total, others);
      if (provably_equal(left, Dim(0)) == Tri::kNo) return mismatch();
      TESSERA_TRY_VOID(agreed(args_, left, Dim(0), "elements left over and none"));
      out_[*rest_] = floor_div(total, others);
      return out_;
    }
    if (provably_equal(total, num_elements(out_)) == Tri::kNo) return mismatch();
    TESSERA_TRY_VOID(agreed(args_, total, num_elements(out_), "numbers of elements"));
    return out_;
  }
  Unexpected<Diagnostics> mismatch() const {
    return refuse(args_, Code::kShapeMismatch, "cannot give {} the shape {}: {} elements",
                  to_string(in_), fmt::format("[{}]", fmt::join(attrs_.newshape, ", ")),
                  to_string(num_elements(in_)));
  }

  const InferArgs& args_;
  const ReshapeAttrs& attrs_;
  const Shape& in_;
  Shape out_;
  std::size_t at_ = 0, next_ = 0;
  std::optional<std::size_t> rest_;
};

Result<Type> infer_reshape(const InferArgs& args) {
  const auto attrs = relay::read_attrs<ReshapeAttrs>(args.attrs);
  TESSERA_TRY(Shape shape, ShapeReader(args, attrs).read());
  return tensor_type(std::move(shape), args.operands[0].dtype());
}

}  // namespace

constexpr Operator kReshape{
    .name = "reshape",
    .doc =
        "The same elements in row-major order with another shape. In newshape, 0 copies a size, -1 "
        "is "
        "what remains, -2 copies all that follow, -3 merges two, -4 a b splits one   data: T[d...] "
        "-> T[newshape]",
    .operands = {"data"},
    .keeps_order = true,
    .attrs = relay::attr_schema<ReshapeAttrs>,
    .pattern = OpPattern::kInjective,
    .infer = infer_reshape,
    .eval = eval_reshape,
    .compute = compute_reshape,
    .samples = {"reshape(float32[4], newshape=[2,2])", "reshape(float32[2,3,4], newshape=[-1])",
                "reshape(int64[2,6], newshape=[0,3,-1])",
                "reshape(float16[2,3,4], newshape=[-3,-2])",
                "reshape(float32[6,5], newshape=[-4,2,-1,0])",
                "reshape(bool[0,3], newshape=[3,0], "
                "allowzero=True)",
                "reshape(float32[1,4,6], newshape=[1,4,2,3])",
                "reshape(float32[5,6], newshape=[3,10])", "reshape(float32[1,1], newshape=[])"},
};

}  // namespace tessera::ops
