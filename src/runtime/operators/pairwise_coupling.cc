// SPDX-License-Identifier: Apache-2.0
// Probabilities of classes from those of pairs of them.
#include <algorithm>
#include <cmath>

#include "runtime/operators/operators.h"
#include "runtime/operators/state.h"

namespace tessera::runtime {
namespace {

constexpr float kLeast = 1e-7F;  // of a probability: none is certain

struct Rows {
  const float* pairs;
  float* probabilities;
  std::int64_t classes;
  const OperatorState* state;
};

// A quadratic form Q and a point p, to which it is applied.
struct Form {
  std::int64_t classes;
  float *q, *qp, *p;
  float pqp;
};

void set_form(const Form& f, const float* pairs) {
  for (std::int64_t i = 0; i < f.classes; ++i) {
    f.q[i * f.classes + i] = 0;
    f.p[i] = 1 / static_cast<float>(f.classes);
  }
  for (std::int64_t i = 0; i < f.classes; ++i) {
    for (std::int64_t j = i + 1; j < f.classes; ++j) {
      const float first = std::clamp(*pairs++, kLeast, 1 - kLeast), second = 1 - first;
      f.q[i * f.classes + i] += second * second;
      f.q[j * f.classes + j] += first * first;
      f.q[i * f.classes + j] = f.q[j * f.classes + i] = -second * first;
    }
  }
}

// Is p near to where the form is least? Rounding of the sweeps before does not stay.
bool apply_form(Form& f) {
  f.pqp = 0;
  for (std::int64_t i = 0; i < f.classes; ++i) {
    f.qp[i] = 0;
    for (std::int64_t j = 0; j < f.classes; ++j) f.qp[i] += f.q[i * f.classes + j] * f.p[j];
    f.pqp += f.p[i] * f.qp[i];
  }
  const float near = 0.005F / static_cast<float>(f.classes);
  for (std::int64_t i = 0; i < f.classes; ++i) {
    if (!(std::fabs(f.qp[i] - f.pqp) < near)) return false;
  }
  return true;
}

void sweep(Form& f) {
  for (std::int64_t i = 0; i < f.classes; ++i) {
    const float* row = f.q + i * f.classes;
    const float d = (f.pqp - f.qp[i]) / row[i], sum = 1 + d;
    f.p[i] += d;
    f.pqp = (f.pqp + d * (d * row[i] + 2 * f.qp[i])) / sum / sum;
    for (std::int64_t j = 0; j < f.classes; ++j) {
      f.qp[j] = (f.qp[j] + d * row[j]) / sum;
      f.p[j] /= sum;
    }
  }
}

std::int32_t couple_rows(void* closure, std::int64_t begin, std::int64_t end, std::int32_t worker) {
  const auto& rows = *static_cast<const Rows*>(closure);
  constexpr int kMostSweeps = 100;
  const std::int64_t classes = rows.classes;
  auto* scratch = static_cast<float*>(rows.state->scratch_of(worker));
  for (std::int64_t row = begin; row < end; ++row) {
    Form f = {classes, scratch, scratch + classes * classes, rows.probabilities + row * classes, 0};
    set_form(f, rows.pairs + row * (classes * (classes - 1) / 2));
    for (int k = 0; k < kMostSweeps && !apply_form(f); ++k) sweep(f);
  }
  return 0;
}

float* floats_of(const tessera_tensor& t) {
  return reinterpret_cast<float*>(static_cast<char*>(t.data) + t.byte_offset);
}

}  // namespace
}  // namespace tessera::runtime

std::int32_t tessera_pairwise_coupling(const tessera_call* call, tessera_tensor** tensors,
                                       std::int32_t count) {
  using namespace tessera::runtime;
  OperatorState* state = operator_state(call);
  if (state == nullptr) return 1;
  if (count != 2 || tensors[0]->ndim != 2 || tensors[1]->ndim != 2) {
    return operator_error(call, "pairwise_coupling: one operand and one result of two dimensions");
  }
  const std::int64_t classes = tensors[1]->shape[1], rows = tensors[1]->shape[0];
  if (tensors[0]->shape[0] != rows || tensors[0]->shape[1] != classes * (classes - 1) / 2) {
    return operator_error(call, "pairwise_coupling: another number of pairs than of classes");
  }
  // The form and one vector more, of four bytes an element.
  constexpr std::uint64_t kFloats = kScratchBytesPerElement / sizeof(float);
  const auto elements = static_cast<std::uint64_t>(classes * (classes + 1)) / kFloats + 1;
  if (!state->reserve(elements, call->threads)) {
    return operator_error(call, "pairwise_coupling: out of memory");
  }
  Rows closure = {floats_of(*tensors[0]), floats_of(*tensors[1]), classes, state};
  return tessera_parallel_for(call, rows, couple_rows, &closure);
}
