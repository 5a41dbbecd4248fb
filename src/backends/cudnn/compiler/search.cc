// SPDX-License-Identifier: Apache-2.0
#include "backends/cudnn/compiler/search.h"

#include <algorithm>
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

constexpr std::uint64_t kMostWorkspaceBytes = std::uint64_t{1} << 30;
constexpr double kRoundingTf32 = 1.5e-3;

double limit_of(const Region& region) {
  const double usual = contest::usual_limit(region.dtype);
  return region.multiplies_tf32() ? std::max(usual, kRoundingTf32) : usual;
}

// Random numbers, in the host's memory and the device's.
struct Numbers {
  Tensor host;
  void* device = nullptr;
};

// Along which dimension elements lie beside each other.
std::size_t innermost(const View& view) {
  std::size_t found = view.dims.size() - 1;
  for (std::size_t i = 0; i < view.dims.size(); ++i) {
    if (view.strides[i] == 1 && view.dims[i] > 1) found = i;
  }
  return found;
}

// Which element lies there in a tensor without gaps.
std::vector<std::int64_t> index_at(const View& view, std::int64_t place) {
  std::vector<std::int64_t> index;
  for (std::size_t i = 0; i < view.dims.size(); ++i) {
    index.push_back(view.dims[i] == 1 ? 0 : place / view.strides[i] % view.dims[i]);
  }
  return index;
}

// How many elements an operand has in memory, as far as it is read: it may be the first part of a
// wider tensor, or have views.
std::int64_t extent_of(const Region& region, std::size_t operand) {
  const View& own = region.operands[operand].view;
  if (!own.dims.empty()) return reach_of(own);
  std::int64_t end = 0;
  for (const Operation& o : region.operations) {
    if (o.name != "view" || o.inputs[0] != operand) continue;
    end = std::max(end, offset_bytes(o) / o.dtype.size_bytes() + reach_of(o.view));
  }
  return end;
}

class MeasuredRegion final : public contest::Work {
 public:
  MeasuredRegion(const Region& region, contest::Device& device, std::size_t most_ways)
      : region_(region),
        device_(device),
        most_ways_(most_ways),
        columns_(region_.result().dims[innermost(region_.result())]),
        result_(device, count_of(region_.result()) / columns_, columns_, region_.dtype,
                limit_of(region_)) {
    open();
    find();
    if (ways_.empty()) return;
    make_operands();
    want();
  }

  const std::vector<std::string>& ways() const override { return ways_; }
  const char* lack() const { return lack_.text(); }  // why there is no way
  std::int64_t turns() const override { return std::ssize(cold_); }

  std::string launch(std::size_t way, std::int64_t turn) override {
    const Api& api = library_api();
    std::vector<std::int64_t> ids;
    std::vector<void*> addresses;
    const auto bind = [&](std::size_t tensor, void* address) {
      ids.push_back(static_cast<std::int64_t>(tensor));
      addresses.push_back(address);
    };
    const auto operand = [&](std::size_t i) {
      return i == region_.coldest ? cold_[static_cast<std::size_t>(turn)] : operands_[i].device;
    };
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      if (!region_.operands[i].view.dims.empty()) bind(i, operand(i));
    }
    for (std::size_t i = 0; i < region_.operations.size(); ++i) {
      const Operation& o = region_.operations[i];
      if (o.name == "scalar") bind(operands_.size() + i, &scalars_[i]);
      if (o.name == "view") {
        bind(operands_.size() + i, static_cast<char*>(operand(o.inputs[0])) + offset_bytes(o));
      }
    }
    bind(operands_.size() + region_.operations.size() - 1, result_.data());
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
    if (!graph_.parse(graph_text(region_))) throw std::runtime_error(graph_.error());
    if (!operations_.build(handle_, graph_, &lack_)) return;
    std::set<std::string> known;
    for (const auto list : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B, CUDNN_HEUR_MODE_FALLBACK}) {
      const auto all = std::make_unique<Configurations>();
      TextBuffer why;
      if (!all->find(handle_, operations_, list, &why)) continue;
      for (std::int64_t i = 0; i < all->size() && ways_.size() < most_ways_; ++i) {
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
    for (std::size_t i = 0; i < region_.operands.size(); ++i) {
      const DType dtype = region_.operands[i].dtype;
      const std::int64_t count = extent_of(region_, i);
      auto bytes =
          contest::random_numbers(count, dtype, region_.scales[i], static_cast<unsigned>(i) + 1);
      void* there = device_.upload(bytes);
      operands_.push_back({Tensor({count}, dtype, Blob::adopt(std::move(bytes))), there});
    }
    for (const Operation& o : region_.operations) {
      scalars_.push_back(o.name == "scalar" ? std::stof(o.attributes.at("value")[0]) : 0);
    }
    workspace_ = workspace_bytes_ > 0 ? device_.allocate(workspace_bytes_) : nullptr;
    const Numbers& cold = operands_[region_.coldest];
    const auto bytes = static_cast<std::uint64_t>(cold.host.size_bytes());
    cold_ = {cold.device};
    for (std::int64_t i = 1; i < contest::cold_copies(bytes); ++i) {
      cold_.push_back(device_.allocate(bytes));
      device_.copy(cold_.back(), cold.device, bytes);
    }
  }

  // In float64, of the numbers as they were rounded.
  void want() {
    const Region::Read read = [this](std::size_t operand, std::int64_t at) {
      return element_as_double(operands_[operand].host, at);
    };
    std::vector<double> wanted;
    for (const std::int64_t row : result_.rows()) {
      for (const std::int64_t column : result_.columns()) {
        const auto index = index_at(region_.result(), row * columns_ + column);
        wanted.push_back(region_.reference(read, index));
      }
    }
    result_.want(std::move(wanted));
  }

  const Region region_;
  contest::Device& device_;
  const std::size_t most_ways_;
  const std::int64_t columns_;  // that lie beside each other
  contest::CheckedResult result_;
  Device handle_;
  JsonGraph graph_;
  OperationGraph operations_;
  TextBuffer lack_;
  std::vector<std::string> ways_;
  std::vector<std::unique_ptr<Plan>> plans_;
  std::uint64_t workspace_bytes_ = 0;
  std::vector<Numbers> operands_;
  std::vector<float> scalars_;  // by operation
  std::vector<void*> cold_;     // copies
  void* workspace_ = nullptr;
};

}  // namespace

void search_plans(const Region& region, const std::string& arch, const tessera_device_api& api,
                  const byoc::Search& search, byoc::SearchReport& report) {
  contest::Device device(api, arch);
  MeasuredRegion work(region, device, search.most_ways);
  if (!work.ways().empty()) {
    run_contest(device, work, search, report);
    return;
  }
  // That is known of the device, too: the region is to be computed elsewhere.
  report.found(0, "none");
  report.wrong(0, work.lack());
  report.done();
}

}  // namespace tessera::backends::cudnn
