// SPDX-License-Identifier: Apache-2.0
#include "backends/cublas/search.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "backends/cublas/configuration.h"
#include "backends/cublas/library.h"
#include "constants/float8.h"
#include "constants/tensor.h"
#include "contest/checked_result.h"
#include "contest/contest.h"

namespace tessera::backends::cublas {
namespace {

constexpr double kRoundingTf32 = 1.5e-3;
// Of floats of eight bits inside of an instruction, and of sums of thousands of terms that stay in
// the tensor cores' registers.
constexpr double kRoundingFloat8 = 1e-3, kRoundingFastFloat8 = 1e-2;

DType dtype_of(Scalar type) {
  switch (type) {
    case Scalar::kFloat16:
      return kFloat16;
    case Scalar::kBFloat16:
      return kBFloat16;
    case Scalar::kFloat32:
      return kFloat32;
    case Scalar::kInt8:
      return kInt8;
    case Scalar::kInt32:
      return kInt32;
    case Scalar::kFloat8E4M3:
    case Scalar::kFloat8E5M2:
      return kUInt8;  // of their codes
  }
  return kFloat32;
}

double limit_of(const Spec& s) {
  const double usual = contest::usual_limit(dtype_of(s.result));
  if (s.sums == Sums::kFastFloat8) return std::max(usual, kRoundingFastFloat8);
  if (s.is_float8()) return std::max(usual, kRoundingFloat8);
  return s.sums == Sums::kTf32 ? std::max(usual, kRoundingTf32) : usual;
}

double activated(Activation activation, double x) {
  switch (activation) {
    case Activation::kRelu:
      return std::max(x, 0.0);
    case Activation::kGelu:
      return x / 2 * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    case Activation::kNone:
      break;
  }
  return x;
}

// Random numbers, in the host's memory and the device's.
struct Operand {
  Tensor host;
  void* device = nullptr;
  const Float8Format* format = nullptr;  // of codes

  double at(std::int64_t i) const {
    const double element = element_as_double(host, i);
    return format == nullptr ? element : float8_value(*format, static_cast<int>(element));
  }
};

std::vector<std::byte> random_codes(std::int64_t count, const Float8Format& format, unsigned seed) {
  const Tensor numbers({count}, kFloat32,
                       Blob::adopt(contest::random_numbers(count, kFloat32, 1, seed)));
  std::vector<std::byte> codes;
  codes.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    codes.push_back(std::byte(float8_code(format, element_as_double(numbers, i), true)));
  }
  return codes;
}

class MeasuredProduct final : public contest::Work {
 public:
  MeasuredProduct(const SearchedProduct& searched, const Library& library, contest::Device& device,
                  std::size_t most_ways)
      : spec_(searched.spec),
        device_(device),
        product_(library.api, library.handle, spec_),
        result_(device, spec_.batch * spec_.m, spec_.n, dtype_of(spec_.result), limit_of(spec_)) {
    find(library.api, most_ways);
    if (algorithms_.empty()) return;
    make_operands();
    want();
  }
  ~MeasuredProduct() override { product_.drop(&plan_); }

  const std::vector<std::string>& ways() const override { return ways_; }
  // Why there is no way.
  const char* lack() const { return lack_.text(); }
  std::int64_t turns() const override { return std::ssize(weights_); }

  std::string launch(std::size_t way, std::int64_t turn) override {
    plan_.algorithm = algorithms_[way].opaque;
    Operands o;
    o.a = a_.device;
    o.b = weights_[static_cast<std::size_t>(turn)];
    o.bias = bias_.device;
    o.residual = residual_.device;
    o.a_scale = a_scale_.device;
    o.b_scale = b_scale_.device;
    o.d = result_.data();
    o.workspace = workspace_;
    o.workspace_bytes = static_cast<std::size_t>(spec_.workspace_bytes);
    o.stream = static_cast<cudaStream_t>(device_.stream());
    TextBuffer error;
    return product_.run(plan_, o, &error) ? "" : error.text();
  }
  void spoil() override { result_.spoil(); }
  std::string mistake(std::string* fault) override { return result_.mistake(fault); }

 private:
  void find(const Api& api, std::size_t most_ways) {
    if (!product_.create(&lack_) ||
        !product_.lay_out({spec_.m, spec_.n, spec_.k, spec_.batch}, &plan_, &lack_)) {
      return;
    }
    algorithms_.resize(most_ways);
    const int count =
        product_.find_algorithms(plan_, algorithms_.data(), static_cast<int>(most_ways), &lack_);
    algorithms_.resize(static_cast<std::size_t>(count));
    for (const Algorithm& one : algorithms_) ways_.push_back(configuration_text(api, one));
  }

  Operand random(std::int64_t count, DType dtype, double scale, unsigned seed) {
    auto bytes = contest::random_numbers(count, dtype, scale, seed);
    void* there = device_.upload(bytes);
    return {Tensor({count}, dtype, Blob::adopt(std::move(bytes))), there};
  }
  Operand random_factor(std::int64_t count, Scalar type, double scale, unsigned seed) {
    if (!is_of_float8(type)) return random(count, dtype_of(type), scale, seed);
    const Float8Format& format = type == Scalar::kFloat8E5M2 ? kFloat8E5M2 : kFloat8E4M3;
    auto codes = random_codes(count, format, seed);
    void* there = device_.upload(codes);
    return {Tensor({count}, kUInt8, Blob::adopt(std::move(codes))), there, &format};
  }

  void make_operands() {
    const DType result = dtype_of(spec_.result);
    const bool of_integers = spec_.sums == Sums::kInt32;
    const std::int64_t a_matrices = spec_.a_repeats != 0 ? 1 : spec_.batch,
                       b_matrices = spec_.b_repeats != 0 ? 1 : spec_.batch;
    const double like_k = 1 / std::sqrt(static_cast<double>(spec_.k));
    a_ = random_factor(a_matrices * spec_.m * spec_.k, spec_.a_type, of_integers ? 4 : 1, 1);
    b_ = random_factor(b_matrices * spec_.k * spec_.n, spec_.b_type, of_integers ? 1 : like_k, 2);
    if (spec_.scales != Scales::kNone) {
      const bool of_rows = spec_.scales == Scales::kVectors;
      a_scale_ = random(of_rows ? spec_.m : 1, kFloat32, 1, 5);
      b_scale_ = random(of_rows ? spec_.n : 1, kFloat32, like_k, 6);
    }
    if (spec_.bias >= 0) bias_ = random(spec_.n, result, 0.5, 3);
    if (spec_.residual >= 0) {
      residual_ = random(spec_.batch * spec_.m * spec_.n, result, 0.5, 4);
    }
    workspace_ = device_.allocate(static_cast<std::uint64_t>(spec_.workspace_bytes));
    weights_ = {b_.device};
    if (b_matrices > 1) return;  // activations: where they are is not for us to say
    const auto bytes = static_cast<std::uint64_t>(b_.host.size_bytes());
    for (std::int64_t i = 1; i < contest::cold_copies(bytes); ++i) {
      weights_.push_back(device_.allocate(bytes));
      device_.copy(weights_.back(), b_.device, bytes);
    }
  }

  // In float64, of the numbers as they were rounded.
  void want() {
    std::vector<double> wanted;
    for (const std::int64_t row : result_.rows()) {
      const std::int64_t matrix = row / spec_.m, i = row % spec_.m;
      const std::vector<double> a = row_of_a(matrix, i);
      for (const std::int64_t j : result_.columns()) {
        const double sum = dot(a, matrix, j) * static_cast<double>(spec_.alpha) * scale(i, j);
        const double bias = spec_.bias >= 0 ? bias_.at(j) : 0;
        const double residual = spec_.residual >= 0 ? residual_.at(row * spec_.n + j) : 0;
        wanted.push_back(activated(spec_.activation, sum + residual + bias));
      }
    }
    result_.want(std::move(wanted));
  }
  double scale(std::int64_t i, std::int64_t j) const {
    if (spec_.scales == Scales::kNone) return 1;
    const bool of_rows = spec_.scales == Scales::kVectors;
    return a_scale_.at(of_rows ? i : 0) * b_scale_.at(of_rows ? j : 0);
  }
  std::vector<double> row_of_a(std::int64_t matrix, std::int64_t i) const {
    const std::int64_t first = spec_.a_repeats != 0 ? 0 : matrix * spec_.m * spec_.k;
    std::vector<double> row;
    for (std::int64_t k = 0; k < spec_.k; ++k) {
      row.push_back(a_.at(first + (spec_.a_transposed != 0 ? k * spec_.m + i : i * spec_.k + k)));
    }
    return row;
  }
  double dot(const std::vector<double>& a, std::int64_t matrix, std::int64_t j) const {
    const std::int64_t first = spec_.b_repeats != 0 ? 0 : matrix * spec_.k * spec_.n;
    double sum = 0;
    for (std::int64_t k = 0; k < spec_.k; ++k) {
      sum += a[static_cast<std::size_t>(k)] *
             b_.at(first + (spec_.b_transposed != 0 ? j * spec_.k + k : k * spec_.n + j));
    }
    return sum;
  }

  Spec spec_;
  contest::Device& device_;
  Product product_;
  Plan plan_;
  contest::CheckedResult result_;
  TextBuffer lack_;
  std::vector<Algorithm> algorithms_;
  std::vector<std::string> ways_;
  Operand a_, b_, bias_, residual_, a_scale_, b_scale_;
  std::vector<void*> weights_;  // copies of B
  void* workspace_ = nullptr;
};

}  // namespace

void search_algorithms(const SearchedProduct& product, const tessera_device_api& api,
                       const byoc::Search& search, byoc::SearchReport& report) {
  contest::Device device(api, product.arch);
  const OpenedLibrary library;
  MeasuredProduct work(product, library.get(), device, search.most_ways);
  if (!work.ways().empty()) {
    run_contest(device, work, search, report);
    return;
  }
  // That is known of the device, too: the product is to be computed elsewhere.
  report.found(0, "none");
  report.wrong(0, work.lack());
  report.done();
}

}  // namespace tessera::backends::cublas
