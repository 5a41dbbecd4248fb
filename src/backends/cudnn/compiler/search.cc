// SPDX-License-Identifier: Apache-2.0
#include "backends/cudnn/compiler/search.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <stdexcept>

#include "backends/cudnn/compiler/configuration.h"
#include "backends/cudnn/compiler/library.h"
#include "constants/tensor.h"
#include "contest/checked_result.h"
#include "contest/contest.h"

namespace tessera::backends::cudnn {
namespace {

constexpr std::size_t kMostWays = 32;
constexpr std::uint64_t kMostWorkspaceBytes = std::uint64_t{1} << 30;
constexpr double kRoundingTf32 = 1.5e-3;

double limit_of(const Convolution& c) {
  const double usual = contest::usual_limit(c.dtype);
  return c.tf32 && c.dtype == kFloat32 ? std::max(usual, kRoundingTf32) : usual;
}

double number_of(const Step& step, const std::string& name, double otherwise) {
  const auto at = step.numbers.find(name);
  return at == step.numbers.end() ? otherwise : at->second;
}

// The step's result for one element, in float64.
double computed(const Step& step, double x, double operand) {
  if (step.mode == "add") return x + operand;
  if (step.mode == "mul") return x * operand;
  if (step.mode == "sigmoid") return 1 / (1 + std::exp(-x));
  if (step.mode == "swish") return x / (1 + std::exp(-x));
  if (step.mode == "tanh") return std::tanh(x);
  if (step.mode == "gelu") return x / 2 * (1 + std::erf(x * M_SQRT1_2));
  if (step.mode == "elu") return x < 0 ? number_of(step, "alpha", 1) * std::expm1(x) : x;
  const double low = number_of(step, "lower_clip", 0), slope = number_of(step, "slope", 0);
  if (x < low) return low + slope * (x - low);
  return std::min(x, number_of(step, "upper_clip", x));
}

// Random numbers, in the host's memory and the device's.
struct Numbers {
  Tensor host;
  void* device = nullptr;
  double at(std::int64_t i) const { return element_as_double(host, i); }
};

// Where an element of a tensor lies that is one along what repeats.
std::int64_t place(const View& view, const std::vector<std::int64_t>& index) {
  std::int64_t at = 0;
  for (std::size_t i = 0; i < index.size(); ++i) {
    if (view.dims[i] != 1) at += index[i] * view.strides[i];
  }
  return at;
}

std::int64_t count_of(const View& view) {
  std::int64_t count = 1;
  for (const std::int64_t d : view.dims) count *= d;
  return count;
}

class MeasuredConvolution final : public contest::Work {
 public:
  MeasuredConvolution(const Convolution& convolution, contest::Device& device)
      : c_(convolution),
        device_(device),
        result_(device, count_of(c_.result) / c_.result.dims[1], c_.result.dims[1], c_.dtype,
                limit_of(c_)) {
    open();
    find();
    if (ways_.empty()) return;
    make_operands();
    want();
  }

  const std::vector<std::string>& ways() const override { return ways_; }
  const char* lack() const { return lack_.text(); }  // why there is no way
  std::int64_t turns() const override { return std::ssize(weights_); }

  std::string launch(std::size_t way, std::int64_t turn) override {
    const Api& api = library_api();
    std::vector<std::int64_t> ids;
    std::vector<void*> addresses;
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      ids.push_back(static_cast<std::int64_t>(i));
      addresses.push_back(i == 1 ? weights_[static_cast<std::size_t>(turn)] : operands_[i].device);
    }
    ids.push_back(static_cast<std::int64_t>(operands_.size() + c_.steps.size()));
    addresses.push_back(result_.data());
    const auto count = std::ssize(ids);
    Descriptor pack;
    cudnnStatus_t status =
        pack.create(api, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
            .set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, ids.data())
            .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count,
                 addresses.data())
            .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace_)
            .finalize();
    if (status == CUDNN_STATUS_SUCCESS) {
      status = api.BackendExecute(handle_.handle(), plans_[way]->descriptor().raw(), pack.raw());
    }
    TextBuffer error;
    return status == CUDNN_STATUS_SUCCESS || fail(api, "cuDNN failed", status, &error)
               ? ""
               : error.text();
  }
  void spoil() override { result_.spoil(); }
  std::string mistake(std::string* fault) override { return result_.mistake(fault); }

 private:
  void open() {
    TextBuffer error;
    if (!handle_.open(library_api(), &error)) throw std::runtime_error(error.text());
    const cudnnStatus_t status =
        library_api().SetStream(handle_.handle(), static_cast<cudaStream_t>(device_.stream()));
    if (status != CUDNN_STATUS_SUCCESS) throw std::runtime_error("cuDNN takes no stream");
  }

  // The lists in the order in which they are asked without records; a configuration once.
  void find() {
    if (!graph_.parse(graph_text(c_))) throw std::runtime_error(graph_.error());
    if (!operations_.build(handle_, graph_, &lack_)) return;
    std::set<std::string> known;
    for (const auto list : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B, CUDNN_HEUR_MODE_FALLBACK}) {
      const auto all = std::make_unique<Configurations>();
      TextBuffer why;
      if (!all->find(handle_, operations_, list, &why)) continue;
      for (std::int64_t i = 0; i < all->size() && ways_.size() < kMostWays; ++i) {
        add((*all)[i], known);
      }
    }
    if (ways_.empty()) lack_.add("cuDNN has no engine for it that is as exact as it must be");
  }

  void add(const Descriptor& configuration, std::set<std::string>& known) {
    auto plan = std::make_unique<Plan>();
    TextBuffer why;
    if (!plan->make(handle_, configuration, &why)) return;
    if (plan->workspace_bytes() > kMostWorkspaceBytes) return;
    std::string text = configuration_text(library_api(), *plan);
    if (text.empty() || !known.insert(text).second) return;
    workspace_bytes_ = std::max(workspace_bytes_, plan->workspace_bytes());
    ways_.push_back(std::move(text));
    plans_.push_back(std::move(plan));
  }

  void make_operands() {
    const View& w = c_.operands[1].view;
    const double products = static_cast<double>(count_of(w)) / static_cast<double>(w.dims[0]);
    for (std::size_t i = 0; i < c_.operands.size(); ++i) {
      const double scale = i == 0 ? 1 : i == 1 ? 1 / std::sqrt(products) : 0.5;
      const std::int64_t count = count_of(c_.operands[i].view);
      auto bytes = contest::random_numbers(count, c_.dtype, scale, static_cast<unsigned>(i) + 1);
      void* there = device_.upload(bytes);
      operands_.push_back({Tensor({count}, c_.dtype, Blob::adopt(std::move(bytes))), there});
    }
    workspace_ = workspace_bytes_ > 0 ? device_.allocate(workspace_bytes_) : nullptr;
    const auto bytes = static_cast<std::uint64_t>(operands_[1].host.size_bytes());
    weights_ = {operands_[1].device};
    for (std::int64_t i = 1; i < contest::cold_copies(bytes); ++i) {
      weights_.push_back(device_.allocate(bytes));
      device_.copy(weights_.back(), operands_[1].device, bytes);
    }
  }

  // In float64, of the numbers as they were rounded.
  void want() {
    const std::int64_t height = c_.result.dims[2], width = c_.result.dims[3];
    std::vector<double> wanted;
    for (const std::int64_t row : result_.rows()) {
      for (const std::int64_t channel : result_.columns()) {
        const std::vector<std::int64_t> at = {row / (height * width), channel, row / width % height,
                                              row % width};
        double value = sum(at);
        for (const Step& step : c_.steps) {
          const std::size_t i = step.operand.value_or(0);
          const double other = step.operand ? operands_[i].at(place(c_.operands[i].view, at)) : 0;
          value = computed(step, value, other);
        }
        wanted.push_back(value);
      }
    }
    result_.want(std::move(wanted));
  }

  // What the window at that place of the result sees, times the weights.
  double sum(const std::vector<std::int64_t>& at) const {
    const View &x = c_.operands[0].view, &w = c_.operands[1].view;
    const std::int64_t channels = w.dims[1], groups = x.dims[1] / channels;
    const std::int64_t first = at[1] / (w.dims[0] / groups) * channels;
    double total = 0;
    for (std::int64_t r = 0; r < w.dims[2]; ++r) {
      const std::int64_t i =
          at[2] * c_.window[0].stride - c_.window[0].pad_begin + r * c_.window[0].dilation;
      for (std::int64_t s = 0; s < w.dims[3]; ++s) {
        const std::int64_t j =
            at[3] * c_.window[1].stride - c_.window[1].pad_begin + s * c_.window[1].dilation;
        if (i < 0 || i >= x.dims[2] || j < 0 || j >= x.dims[3]) continue;
        const std::int64_t image = at[0] * x.strides[0] + i * x.strides[2] + j * x.strides[3];
        const std::int64_t kernel = at[1] * w.strides[0] + r * w.strides[2] + s * w.strides[3];
        for (std::int64_t k = 0; k < channels; ++k) {
          total += operands_[0].at(image + (first + k) * x.strides[1]) *
                   operands_[1].at(kernel + k * w.strides[1]);
        }
      }
    }
    return total;
  }

  Convolution c_;
  contest::Device& device_;
  contest::CheckedResult result_;
  Device handle_;
  JsonGraph graph_;
  OperationGraph operations_;
  TextBuffer lack_;
  std::vector<std::string> ways_;
  std::vector<std::unique_ptr<Plan>> plans_;
  std::uint64_t workspace_bytes_ = 0;
  std::vector<Numbers> operands_;
  std::vector<void*> weights_;  // copies
  void* workspace_ = nullptr;
};

}  // namespace

void search_plans(const Convolution& convolution, const std::string& arch,
                  const tessera_device_api& api, const byoc::Search& search,
                  byoc::SearchReport& report) {
  contest::Device device(api, arch);
  MeasuredConvolution work(convolution, device);
  if (!work.ways().empty()) {
    run_contest(device, work, search, report);
    return;
  }
  // That is known of the device, too: the convolution is to be computed elsewhere.
  report.found(0, "none");
  report.wrong(0, work.lack());
  report.done();
}

}  // namespace tessera::backends::cudnn
