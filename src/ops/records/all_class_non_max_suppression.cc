// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/attrs/index.h"
#include "ops/evaluation/evaluate.h"
#include "ops/inference/infer.h"
#include "ops/records/record.h"

namespace tessera::ops {
namespace {

Result<Type> infer_all_class_non_max_suppression(const InferArgs& args) {
  const auto p = relay::read_attrs<NonMaxSuppressionAttrs>(args.attrs);
  if (p.output_format != "onnx") {
    return refuse(args, Code::kWrongAttribute, "has output_format \"{}\"; it is \"onnx\"",
                  p.output_format);
  }
  const DType dtypes[] = {kFloat32, kFloat32, kInt64, kFloat32, kFloat32};
  const std::size_t ranks[] = {3, 3, 0, 0, 0};
  for (std::size_t i = 0; i < 5; ++i) {
    TESSERA_TRY_VOID(expect_rank(args, i, ranks[i]));
    if (args.operands[i].dtype() == dtypes[i]) continue;
    return refuse(args, Code::kDtypeMismatch, "needs {} as operand {}, found {}",
                  to_string(dtypes[i]), i + 1, to_string(args.operands[i].dtype()));
  }
  const Shape &boxes = args.operands[0].shape(), &scores = args.operands[1].shape();
  TESSERA_TRY(const Dim batch, agreed(args, boxes[0], scores[0], "batches"));
  TESSERA_TRY(const Dim count, agreed(args, boxes[1], scores[2], "numbers of boxes"));
  TESSERA_TRY_VOID(agreed(args, boxes[2], Dim(4), "numbers of coordinates"));
  return tuple_type(
      {tensor_type({batch * scores[1] * count, Dim(3)}, kInt64), tensor_type({Dim(1)}, kInt64)});
}

struct Corners {
  double y0, x0, y1, x1;
  double area() const { return (y1 - y0) * (x1 - x0); }
};

Corners corners(std::span<const double> boxes, std::int64_t box, bool center) {
  const auto b = boxes.subspan(static_cast<std::size_t>(box) * 4, 4);
  if (center) return {b[1] - b[3] / 2, b[0] - b[2] / 2, b[1] + b[3] / 2, b[0] + b[2] / 2};
  return {std::min(b[0], b[2]), std::min(b[1], b[3]), std::max(b[0], b[2]), std::max(b[1], b[3])};
}

bool overlap(const Corners& a, const Corners& b, double iou) {
  const double height = std::min(a.y1, b.y1) - std::max(a.y0, b.y0);
  const double width = std::min(a.x1, b.x1) - std::max(a.x0, b.x0);
  if (height <= 0 || width <= 0 || a.area() <= 0 || b.area() <= 0) return false;
  return height * width / (a.area() + b.area() - height * width) > iou;
}

// The boxes that one batch and class keep.
Ints kept(std::span<const double> boxes, std::span<const double> scores, double score,
          std::int64_t most, double iou, bool center) {
  Ints order, out;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] > score) order.push_back(static_cast<std::int64_t>(i));
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return scores[a] > scores[b]; });
  for (const std::int64_t box : order) {
    if (static_cast<std::int64_t>(out.size()) >= most) break;
    const Corners mine = corners(boxes, box, center);
    const bool free = std::none_of(out.begin(), out.end(), [&](std::int64_t other) {
      return overlap(mine, corners(boxes, other, center), iou);
    });
    if (free) out.push_back(box);
  }
  return out;
}

std::vector<Tensor> eval_all_class_non_max_suppression(const EvalArgs& args) {
  const auto p = relay::read_attrs<NonMaxSuppressionAttrs>(args.attrs);
  const Ints shape = args.operands[1].shape;
  const auto boxes = values_of<double>(args.operands[0]),
             scores = values_of<double>(args.operands[1]);
  const double iou = element_as_double(args.operands[3], 0);
  const double score = element_as_double(args.operands[4], 0);
  Ints rows;
  for (std::int64_t pair = 0; pair < shape[0] * shape[1]; ++pair) {
    const std::int64_t batch = pair / shape[1];
    for (const std::int64_t box : kept(
             boxes.part(batch * shape[2] * 4, shape[2] * 4), scores.part(pair * shape[2], shape[2]),
             score, element_as_int(args.operands[2], 0), iou, p.center_point_box != 0)) {
      rows.insert(rows.end(), {batch, pair % shape[1], box});
    }
  }
  const auto count = static_cast<std::int64_t>(rows.size() / 3);
  rows.resize(static_cast<std::size_t>(shape[0] * shape[1] * shape[2] * 3));
  const std::vector<Type>& fields = args.result.fields();
  return {tensor_of(fields[0], rows), tensor_of(fields[1], Ints{count})};
}

}  // namespace

constexpr Operator kAllClassNonMaxSuppression{
    .name = "vision.all_class_non_max_suppression",
    .doc =
        "Of each batch and class the boxes in order of falling score above `score_threshold`, "
        "but for those that overlap one before by more than `iou_threshold`, at most "
        "`max_output_boxes_per_class`: rows (batch, class, box), zeros after them, and their "
        "number. Boxes are two corners (y, x, y, x), or with center_point_box (x, y, width, "
        "height)   boxes: float32[b,n,4], scores: float32[b,c,n], max: int64[], iou, score: "
        "float32[] -> (int64[b*c*n,3], int64[1])",
    .operands = {"boxes", "scores", "max_output_boxes_per_class", "iou_threshold",
                 "score_threshold"},
    .attrs = relay::attr_schema<NonMaxSuppressionAttrs>,
    .pattern = OpPattern::kOpaque,
    .infer = infer_all_class_non_max_suppression,
    .eval = eval_all_class_non_max_suppression,
    .runtime_symbol = "tessera_non_max_suppression",
    .flops =
        [](const CostArgs& args) {  // each box with each other one, for each class
          const Shape& scores = args.operands[1].shape();
          return 10 * element_count(args.operands[1]) *
                 static_cast<double>(scores[2].as_constant().value_or(1));
        },
    .samples = {"vision.all_class_non_max_suppression(float32[1,6,4], float32[1,2,6], "
                "int64[]=3, float32[]=0.5, float32[]=0.0)",
                "vision.all_class_non_max_suppression(float32[2,3,4], float32[2,1,3], "
                "int64[]=1, float32[]=0.1, float32[]=-10.0, center_point_box=1)",
                "vision.all_class_non_max_suppression(float32[1,2,4], float32[1,1,2], "
                "int64[]=0, float32[]=0.5, float32[]=0.0)"},
};

}  // namespace tessera::ops
