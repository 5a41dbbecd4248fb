// SPDX-License-Identifier: Apache-2.0
#include "driver/verify.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "constants/float8.h"
#include "lower/specialise.h"
#include "ops/attrs/quantize.h"
#include "ops/evaluation/compare.h"
#include "ops/evaluation/evaluate_function.h"
#include "ops/evaluation/flops.h"
#include "relay/operator.h"

namespace tessera::driver {
namespace {

using Clock = std::chrono::steady_clock;

// What `eval`, written to be read, gets through; on the careful side.
constexpr double kEvalFlopsPerSecond = 3e8;

// Integers that floats become may be the next ones where a rounding is on the edge.
bool rounds_floats(const relay::Function& body) {
  for (std::size_t i = 0; i < body.num_nodes(); ++i) {
    const relay::NodeId id(i);
    if (!relay::is_call_of(body, id, "cast")) continue;
    const relay::NodeId x = body.operands(id)[0];
    if (body.type(id).dtype().is_int() && body.type(x).dtype().is_float()) return true;
  }
  return false;
}

// The format of a result that has codes of floats of eight bits; else null.
const Float8Format* float8_of(const relay::Function& body, const Type& result) {
  for (std::size_t i = body.num_nodes(); i-- > 0;) {
    const relay::NodeId id(i);
    if (!relay::is_call_of(body, id, "qnn.quantize_float8") || !(body.type(id) == result)) continue;
    const relay::Attrs& attrs = body.as<relay::OpCall>(id)->attrs;
    return find_float8(relay::read_attrs<ops::QuantizeFloat8Attrs>(attrs).format);
  }
  return nullptr;
}

// Of numbers, where a rounding may go to the code before or after.
double difference_of_codes(const Tensor& found, const Tensor& wanted, const Float8Format& format) {
  const auto numbers = [&](const Tensor& codes) {
    std::vector<double> all;
    for (std::int64_t i = 0; i < codes.num_elements(); ++i) {
      all.push_back(float8_value(format, static_cast<int>(element_as_double(codes, i))));
    }
    return tensor_from_doubles(codes.shape, kFloat32, all);
  };
  return ops::relative_difference(numbers(found), numbers(wanted));
}

bool reads_symbols(const relay::Function& f) {
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    if (relay::is_call_of(f, relay::NodeId(i), "sizes")) return true;
  }
  return false;
}

// A kernel is given tables after what its function takes: the constants of its body.
std::span<const Tensor> without_tables(const relay::Function& body,
                                       std::span<const Tensor> inputs) {
  std::size_t count = 0;
  for (const relay::NodeId param : body.params()) count += flatten(body.type(param)).size();
  return inputs.first(std::min(inputs.size(), count));
}

// Not where a kernel has constants in place of those that they were made of.
bool takes(const relay::Function& body, std::span<const Tensor> inputs) {
  std::vector<Type> wanted;
  for (const relay::NodeId param : body.params()) {
    for (Type& type : flatten(body.type(param))) wanted.push_back(std::move(type));
  }
  return std::ranges::equal(
      inputs, wanted, [](const Tensor& input, const Type& type) { return input.type() == type; });
}

// The body for inputs of these shapes; nothing where a size stays symbolic, or is read as data.
std::optional<relay::Function> with_known_sizes(const relay::Function& body,
                                                std::span<const Tensor> inputs,
                                                const ConstantPool& constants) {
  if (!is_dynamic(relay::type_of_signature(body)) && !reads_symbols(body)) return body;
  std::vector<Type> params;
  for (const Tensor& t : inputs.first(std::min(inputs.size(), body.params().size()))) {
    params.push_back(t.type());
  }
  if (reads_symbols(body) || params.size() != body.params().size()) return std::nullopt;
  auto known = lower::specialise(body, relay::Function::kBody, params, constants);
  if (!known || is_dynamic(known->type(known->result()))) return std::nullopt;
  return std::move(*known);
}

bool is_finite(const Tensor& t) {
  if (!t.dtype.is_float()) return true;
  for (std::int64_t i = 0; i < t.num_elements(); ++i) {
    if (!std::isfinite(element_as_double(t, i))) return false;
  }
  return true;
}

// Does a float of 16 bits leave its range on the way? Then the reference is no judge of kernels
// that have float32 there.
bool overflows(const Module& module, const relay::Function& body, std::span<const Tensor> inputs) {
  bool found = false;
  const auto look = [&](std::span<const Tensor> operands, std::span<const Tensor> results) {
    if (found || !std::all_of(operands.begin(), operands.end(), is_finite)) return;
    found = std::any_of(results.begin(), results.end(),
                        [](const Tensor& t) { return t.dtype.size_bytes() == 2 && !is_finite(t); });
  };
  ops::evaluate(module, body, inputs, {}, look);
  return found;
}

}  // namespace

Verifier::Verifier(const Module& module, double limit_seconds)
    : module_(module), limit_seconds_(limit_seconds) {}

bool Verifier::worth_starting(const relay::Function& body) const {
  return spent_seconds_ + ops::known_flops(body) / kEvalFlopsPerSecond <= limit_seconds_;
}

void Verifier::compare(const std::string& symbol, std::span<const Tensor> inputs,
                       std::span<const Tensor> outputs) {
  if (!seen_.insert(symbol).second) return;
  const auto found = module_.functions.find(symbol);
  if (found == module_.functions.end()) {
    summary_.without_reference.push_back(symbol);
    return;
  }
  inputs = without_tables(found->second, inputs);
  const auto body = with_known_sizes(found->second, inputs, module_.constants);
  if (!body || !worth_starting(*body)) {
    (body ? summary_.out_of_time : summary_.without_sizes).push_back(symbol);
    return;
  }
  if (!takes(*body, inputs)) {
    summary_.with_made_constants.push_back(symbol);
    return;
  }
  const auto begin = Clock::now();
  const Extern& kernel = module_.externs.at(symbol);
  std::vector<Tensor> expected;
  try {
    expected = ops::evaluate(module_, *body, inputs);
  } catch (const ops::CannotEvaluate&) {  // on these data, which are random
    summary_.not_evaluated.push_back(symbol);
    return;
  }
  const double tolerance = ops::graph_tolerance(*body, kernel.float32_precision);
  const double steps = rounds_floats(*body) ? 1 : 0;
  Diagnostics differences;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Float8Format* codes = float8_of(*body, expected[i].type());
    const double apart = codes != nullptr ? difference_of_codes(outputs[i], expected[i], *codes)
                                          : ops::relative_difference(outputs[i], expected[i]);
    const bool agrees = codes != nullptr ? apart <= std::ldexp(1, -codes->mantissa_bits)
                        : expected[i].dtype.is_float()
                            ? apart <= tolerance
                            : ops::largest_difference(outputs[i], expected[i]) <= steps;
    if (agrees) continue;
    differences.add(
        error(Code::kVerifyFailed, {},
              "`{}` of {}: result {} is {:.3g} of its largest magnitude away from the reference",
              symbol, kernel.backend, i, apart)
            .with_remedy("omit that back end from --backends, and report it"));
  }
  const bool is_no_judge = !differences.empty() && overflows(module_, *body, inputs);
  spent_seconds_ += std::chrono::duration<double>(Clock::now() - begin).count();
  (is_no_judge ? summary_.overflowing : summary_.compared).push_back(symbol);
  if (is_no_judge) return;
  for (Diagnostic& d : differences.list) differences_.add(std::move(d));
}

Result<VerifySummary> Verifier::finish() {
  if (!differences_.empty()) return fail(std::move(differences_));
  return summary_;
}

std::string to_string(const VerifySummary& summary) {
  std::string text =
      fmt::format("{} kernels and regions agree with the reference", summary.compared.size());
  if (!summary.out_of_time.empty()) {
    text += fmt::format("; no time for {}", fmt::join(summary.out_of_time, ", "));
  }
  if (!summary.overflowing.empty()) {
    text += fmt::format(
        "; not compared, because 16 bits overflow in the reference, and not in the result: {}",
        fmt::join(summary.overflowing, ", "));
  }
  if (!summary.not_evaluated.empty()) {
    text += fmt::format("; not compared, because random data lead out of their tensors: {}",
                        fmt::join(summary.not_evaluated, ", "));
  }
  if (!summary.with_made_constants.empty()) {
    text += fmt::format("; not compared, because their constants were packed for them: {}",
                        fmt::join(summary.with_made_constants, ", "));
  }
  if (!summary.without_sizes.empty()) {
    text += fmt::format("; not compared, because they read sizes that only a run knows: {}",
                        fmt::join(summary.without_sizes, ", "));
  }
  if (!summary.without_reference.empty()) {
    text += fmt::format("; not compared, because they compute no operator of the model: {}",
                        fmt::join(summary.without_reference, ", "));
  }
  return text;
}

OutputError output_error(const std::string& name, const Tensor& found, const Tensor& wanted) {
  OutputError e{name, ops::largest_difference(found, wanted),
                ops::relative_difference(found, wanted), 0, wanted.num_elements()};
  if (!(found.type() == wanted.type()) || !wanted.dtype.is_float()) return e;
  for (std::int64_t i = 0; i < e.elements; ++i) {
    e.overflown +=
        std::isfinite(element_as_double(wanted, i)) && !std::isfinite(element_as_double(found, i));
  }
  return e;
}

std::string to_string(const std::vector<OutputError>& errors) {
  std::vector<std::string> texts;
  for (const OutputError& e : errors) {
    if (e.overflown > 0) {
      texts.push_back(
          fmt::format("`{}` overflows in {} of {} elements", e.output, e.overflown, e.elements));
      continue;
    }
    texts.push_back(fmt::format("`{}` differs by {:.3g}, {:.3g} of its largest magnitude", e.output,
                                e.largest, e.relative));
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

}  // namespace tessera::driver
