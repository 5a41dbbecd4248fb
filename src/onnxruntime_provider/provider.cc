// SPDX-License-Identifier: Apache-2.0
#include "onnxruntime_provider/provider.h"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

#include "onnxruntime_provider/clusters.h"
#include "onnxruntime_provider/model_file.h"

namespace tessera::onnxruntime_provider {
namespace {

// A lone node is not worth a library, unless it is all that there is.
constexpr std::size_t kLeastNodes = 2;

// What onnxruntime calls for a fused node.
class FusedNode : public OrtNodeComputeInfo {
 public:
  FusedNode(std::shared_ptr<CompiledGraph> graph, Places places)
      : OrtNodeComputeInfo{}, graph_(std::move(graph)), places_(std::move(places)) {
    ort_version_supported = ORT_API_VERSION;
    CreateState = [](OrtNodeComputeInfo* self, OrtNodeComputeContext*, void** state) noexcept {
      *state = self;
      return static_cast<OrtStatus*>(nullptr);
    };
    Compute = [](OrtNodeComputeInfo* self, void*, OrtKernelContext* context) noexcept {
      return guarded([&] {
        auto& node = *static_cast<FusedNode*>(self);
        node.graph_->run(node.places_, Ort::KernelContext(context));
      });
    };
    ReleaseState = [](OrtNodeComputeInfo*, void*) noexcept {};
  }

 private:
  std::shared_ptr<CompiledGraph> graph_;
  Places places_;
};

std::vector<std::string> names(const std::vector<Ort::ConstValueInfo>& values) {
  std::vector<std::string> all;
  for (const Ort::ConstValueInfo& value : values) {
    all.push_back(value == nullptr ? "" : value.GetName());
  }
  return all;
}

std::vector<NodeValues> values_of(const std::vector<Ort::ConstNode>& nodes) {
  std::vector<NodeValues> all;
  for (const Ort::ConstNode& node : nodes) {
    all.push_back({names(node.GetInputs()), names(node.GetOutputs())});
    // What bodies of branches and loops read.
    const std::vector<std::string> implicit = names(node.GetImplicitInputs());
    all.back().inputs.insert(all.back().inputs.end(), implicit.begin(), implicit.end());
  }
  return all;
}

// Of what it is given, what the bodies of a branch or loop read around them, and what it makes.
bool has_plain_tensors(const Ort::ConstNode& node) {
  for (const auto& values : {node.GetInputs(), node.GetImplicitInputs(), node.GetOutputs()}) {
    for (const Ort::ConstValueInfo& value : values) {
      if (value != nullptr && !is_plain_tensor(value)) return false;
    }
  }
  return true;
}

}  // namespace

Provider::Provider(Options options, const OrtLogger* logger)
    : OrtEp{}, options_(std::move(options)), logger_(logger) {
  ort_version_supported = ORT_API_VERSION;
  GetName = [](const OrtEp*) noexcept { return kName; };
  GetCapability = [](OrtEp* self, const OrtGraph* graph, OrtEpGraphSupportInfo* support) noexcept {
    return guarded(
        [&] { static_cast<Provider*>(self)->find_what_it_takes(Ort::ConstGraph(graph), support); });
  };
  Compile = [](OrtEp* self, const OrtGraph**, const OrtNode** fused, std::size_t count,
               OrtNodeComputeInfo** infos, OrtNode**) noexcept {
    return guarded([&] {
      for (std::size_t i = 0; i < count; ++i) {
        infos[i] = static_cast<Provider*>(self)->compiled(Ort::ConstNode(fused[i]));
      }
    });
  };
  ReleaseNodeComputeInfos = [](OrtEp*, OrtNodeComputeInfo** infos, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) delete static_cast<FusedNode*>(infos[i]);
  };
}

void Provider::tell(const std::string& what) const {
  ORT_CXX_LOG_NOEXCEPT(logger_, ORT_LOGGING_LEVEL_WARNING, ("tessera: " + what).c_str());
}

void Provider::find_what_it_takes(const Ort::ConstGraph& graph, OrtEpGraphSupportInfo* support) {
  // Bodies of branches and loops go with the node that they belong to.
  if (graph.GetParentNode() != nullptr) return;
  const std::vector<Ort::ConstNode> nodes = graph.GetNodes();
  std::vector<bool> is_wanted;
  for (const Ort::ConstNode& node : nodes) {
    is_wanted.push_back(node.GetEpName().empty() && has_plain_tensors(node));
  }
  for (const std::vector<std::size_t>& group : clusters(values_of(nodes), is_wanted)) {
    std::vector<Ort::ConstNode> members;
    for (const std::size_t i : group) members.push_back(nodes[i]);
    if (group.size() == nodes.size() || group.size() >= kLeastNodes) {
      take(graph, std::move(members), support);
    }
  }
}

// Where nodes of the group are refused, the others are taken in smaller groups.
void Provider::take(const Ort::ConstGraph& graph, std::vector<Ort::ConstNode> group,
                    OrtEpGraphSupportInfo* support) {
  const Ort::Graph view = graph.GetGraphView(group);
  const Compilation made = compile(Ort::ConstGraph(view), options_);
  if (made.graph != nullptr) {
    for (const Ort::ConstNode& node : group) {
      for (const std::string& name : names(node.GetOutputs())) graphs_[name] = made.graph;
    }
    std::vector<const OrtNode*> members(group.begin(), group.end());
    OrtNodeFusionOptions options{};
    options.ort_version_supported = ORT_API_VERSION;
    options.drop_constant_initializers = true;  // the library has them
    Ort::ThrowOnError(Ort::GetEpApi().EpGraphSupportInfo_AddNodesToFuse(support, members.data(),
                                                                        members.size(), &options));
    return;
  }
  const std::set<std::size_t> refused(made.refusal.nodes.begin(), made.refusal.nodes.end());
  std::vector<bool> is_wanted;
  for (const Ort::ConstNode& node : group) is_wanted.push_back(refused.count(node.GetId()) == 0);
  const auto left = std::count(is_wanted.begin(), is_wanted.end(), true);
  tell(std::to_string(refused.empty() ? group.size() : group.size() - left) + " of " +
       std::to_string(group.size()) + " nodes run elsewhere: " + made.refusal.reasons);
  if (left == static_cast<std::ptrdiff_t>(group.size())) return;
  for (const std::vector<std::size_t>& smaller : clusters(values_of(group), is_wanted)) {
    if (smaller.size() < kLeastNodes) continue;
    std::vector<Ort::ConstNode> members;
    for (const std::size_t i : smaller) members.push_back(group[i]);
    take(graph, std::move(members), support);
  }
}

OrtNodeComputeInfo* Provider::compiled(const Ort::ConstNode& fused) {
  const std::vector<std::string> outputs = names(fused.GetOutputs());
  for (const std::string& name : outputs) {
    const auto made = graphs_.find(name);
    if (name.empty() || made == graphs_.end()) continue;
    return new FusedNode(made->second, made->second->places(names(fused.GetInputs()), outputs));
  }
  throw std::runtime_error("a fused node has results of no library");
}

}  // namespace tessera::onnxruntime_provider
