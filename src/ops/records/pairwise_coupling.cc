// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "ops/attrs/classes.h"
#include "ops/evaluation/evaluate.h"
#include "ops/records/record.h"

namespace tessera::ops {
namespace {

constexpr std::int64_t kMostClasses = 65536;
constexpr float kLeast = 1e-7F;  // of a probability: none is certain

Result<Type> infer_pairwise_coupling(const InferArgs& args) {
  const Type& pairs = args.operands[0];
  const auto p = relay::read_attrs<PairwiseCouplingAttrs>(args.attrs);
  TESSERA_TRY_VOID(expect_rank(args, 0, 2));
  if (pairs.dtype() != kFloat32) {
    return refuse(args, Code::kDtypeMismatch, "needs float32, found {}", to_string(pairs.dtype()));
  }
  if (p.classes < 2 || p.classes > kMostClasses) {
    return refuse(args, Code::kWrongAttribute, "has {} classes; there are 2 to {}", p.classes,
                  kMostClasses);
  }
  TESSERA_TRY_VOID(
      agreed(args, pairs.shape()[1], Dim(p.classes * (p.classes - 1) / 2), "numbers of pairs"));
  return tensor_type({pairs.shape()[0], Dim(p.classes)}, kFloat32);
}

// The quadratic form whose least value on the simplex is at the result.
class Coupling {
 public:
  Coupling(std::span<const float> pairs, std::size_t classes)
      : classes_(classes), q_(classes * classes, 0), p_(classes, 1 / static_cast<float>(classes)) {
    std::size_t pair = 0;
    for (std::size_t i = 0; i < classes; ++i) {
      for (std::size_t j = i + 1; j < classes; ++j, ++pair) {
        const float r = std::clamp(pairs[pair], kLeast, 1 - kLeast), s = 1 - r;
        q_[i * classes + i] += s * s;
        q_[j * classes + j] += r * r;
        q_[i * classes + j] = q_[j * classes + i] = -s * r;
      }
    }
  }

  std::vector<float> run() {
    constexpr int kMostSweeps = 100;
    for (int sweep = 0; sweep < kMostSweeps && !is_near(); ++sweep) {
      for (std::size_t i = 0; i < classes_; ++i) change(i);
    }
    return p_;
  }

 private:
  bool is_near() {
    qp_.assign(classes_, 0);
    pqp_ = 0;
    for (std::size_t i = 0; i < classes_; ++i) {
      for (std::size_t j = 0; j < classes_; ++j) qp_[i] += q_[i * classes_ + j] * p_[j];
      pqp_ += p_[i] * qp_[i];
    }
    const float near = 0.005F / static_cast<float>(classes_);
    return std::ranges::all_of(qp_, [&](float v) { return std::fabs(v - pqp_) < near; });
  }

  // One probability to where its derivative is that of the others, and all to the sum 1.
  void change(std::size_t i) {
    const float* row = &q_[i * classes_];
    const float d = (pqp_ - qp_[i]) / row[i], sum = 1 + d;
    p_[i] += d;
    pqp_ = (pqp_ + d * (d * row[i] + 2 * qp_[i])) / sum / sum;
    for (std::size_t j = 0; j < classes_; ++j) {
      qp_[j] = (qp_[j] + d * row[j]) / sum;
      p_[j] /= sum;
    }
  }

  std::size_t classes_;
  std::vector<float> q_, p_, qp_;
  float pqp_ = 0;
};

std::vector<Tensor> eval_pairwise_coupling(const EvalArgs& args) {
  const auto classes =
      static_cast<std::size_t>(relay::read_attrs<PairwiseCouplingAttrs>(args.attrs).classes);
  const Elements<double> pairs = values_of<double>(args.operands[0]);
  const std::int64_t width = args.operands[0].shape[1];
  std::vector<double> out;
  for (std::int64_t row = 0; row < args.operands[0].shape[0]; ++row) {
    const auto mine = pairs.part(row * width, width);
    const std::vector<float> found =
        Coupling(std::vector<float>(mine.begin(), mine.end()), classes).run();
    out.insert(out.end(), found.begin(), found.end());
  }
  return {tensor_of(args.result, out)};
}

}  // namespace

constexpr Operator kPairwiseCoupling{
    .name = "pairwise_coupling",
    .doc =
        "Probabilities of classes from those of the first of each pair (0, 1), (0, 2), ... (1, 2), "
        "...: the second method of Wu, Lin and Weng (2004), in at most 100 sweeps, of "
        "probabilities in "
        "[1e-7, 1 - 1e-7]   pairs: float32[n,k*(k-1)/2] -> float32[n,k]",
    .operands = {"pairs"},
    .attrs = relay::attr_schema<PairwiseCouplingAttrs>,
    .pattern = OpPattern::kOpaque,
    .infer = infer_pairwise_coupling,
    .eval = eval_pairwise_coupling,
    .runtime_symbol = "tessera_pairwise_coupling",
    .flops =
        [](const CostArgs& args) {  // a few sweeps, each of all pairs
          const auto classes = relay::read_attrs<PairwiseCouplingAttrs>(args.attrs).classes;
          return 50 * element_count(args.result) * static_cast<double>(classes);
        },
    .samples = {"pairwise_coupling(float32[3,1]{0..1}, classes=2)",
                "pairwise_coupling(float32[2,3]{0..1}, classes=3)",
                "pairwise_coupling(float32[1,10]{0..1}, classes=5)",
                "pairwise_coupling(float32[0,6]{0..1}, classes=4)"},
};

}  // namespace tessera::ops
