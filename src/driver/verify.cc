// SPDX-License-Identifier: Apache-2.0
#include "driver/verify.h"

#include <chrono>
#include <cmath>

#include "relay/operator.h"

namespace tessera::driver {
namespace {

using Clock = std::chrono::steady_clock;

// What `eval`, written to be read, gets through; on the careful side.
constexpr double kEvalFlopsPerSecond = 3e8;

// Rounding differs by the order of sums: relative to the largest magnitude of the tensor.
double tolerance(DType dtype) {
  if (dtype == kBFloat16) return 4e-2;
  if (dtype == kFloat16) return 8e-3;
  return dtype == kFloat64 ? 1e-9 : 1e-4;
}

double flops_of(const relay::Function& f) {
  double total = 0;
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    const relay::NodeId id(i);
    const auto* call = f.as<relay::OpCall>(id);
    if (call == nullptr) continue;
    std::vector<Type> operands;
    for (const relay::NodeId o : f.operands(id)) operands.push_back(f.type(o));
    double mine = 0;
    for (const Type& t : flatten(f.type(id))) {
      mine += static_cast<double>(num_elements(t.shape()).as_constant().value_or(0));
    }
    if (call->op->flops != nullptr) mine = call->op->flops({operands, call->attrs, f.type(id)});
    total += mine;
  }
  return total;
}

// The largest difference, relative to the largest magnitude of the reference; NaN must meet NaN.
double difference(const Tensor& expected, const Tensor& found) {
  double most = 0, scale = 0;
  for (std::int64_t i = 0; i < expected.num_elements(); ++i) {
    const double x = element_as_double(expected, i), y = element_as_double(found, i);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    if (!std::isfinite(x) || !std::isfinite(y)) return HUGE_VAL;
    most = std::max(most, std::abs(x - y));
    scale = std::max(scale, std::abs(x));
  }
  return most == 0 ? 0 : most / std::max(scale, 1e-6);
}

}  // namespace

Verifier::Verifier(const Module& module, double limit_seconds)
    : module_(module), limit_seconds_(limit_seconds) {}

bool Verifier::worth_starting(const relay::Function& body) const {
  return spent_seconds_ + flops_of(body) / kEvalFlopsPerSecond <= limit_seconds_;
}

void Verifier::compare(const std::string& symbol, std::span<const Tensor> inputs,
                       std::span<const Tensor> outputs) {
  if (seen_.contains(symbol)) return;
  const auto body = module_.functions.find(symbol);
  if (body == module_.functions.end() || !worth_starting(body->second)) {
    seen_[symbol] = false;
    return;
  }
  const auto begin = Clock::now();
  const std::vector<Tensor> expected = evaluate(body->second, module_.constants, inputs);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double apart = difference(expected[i], outputs[i]);
    if (apart <= tolerance(expected[i].dtype)) continue;
    differences_.add(
        error(Code::kVerifyFailed, {},
              "`{}` of {}: result {} is {:.3g} of its largest magnitude away from the reference",
              symbol, module_.externs.at(symbol).backend, i, apart)
            .with_remedy("leave that back end out with --backends, and report it"));
  }
  spent_seconds_ += std::chrono::duration<double>(Clock::now() - begin).count();
  seen_[symbol] = true;
}

Result<VerifySummary> Verifier::finish() {
  if (!differences_.empty()) return fail(std::move(differences_));
  VerifySummary summary;
  for (const auto& [symbol, compared] : seen_) {
    (compared ? summary.compared : summary.skipped).push_back(symbol);
  }
  return summary;
}

}  // namespace tessera::driver
