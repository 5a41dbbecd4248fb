// SPDX-License-Identifier: Apache-2.0
#include "import/free_names.h"

#include <set>

namespace tessera::import {
namespace {

class FreeNames {
 public:
  std::vector<std::string> of(const onnx::GraphProto& graph) {
    visit(graph);
    return std::move(found_);
  }

 private:
  void visit(const onnx::GraphProto& graph) {
    std::vector<std::string> own;
    for (const auto& input : graph.input()) define(input.name(), own);
    for (const auto& tensor : graph.initializer()) define(tensor.name(), own);
    for (const auto& node : graph.node()) {
      for (const std::string& name : node.input()) use(name);
      for (const auto& attribute : node.attribute()) {
        if (attribute.has_g()) visit(attribute.g());
      }
      for (const std::string& name : node.output()) define(name, own);
    }
    for (const auto& output : graph.output()) use(output.name());
    for (const std::string& name : own) known_.erase(name);
  }
  // `own` is what a graph adds to the names of those around it, until it ends.
  void define(const std::string& name, std::vector<std::string>& own) {
    if (known_.insert(name).second) own.push_back(name);
  }
  void use(const std::string& name) {
    if (!name.empty() && !known_.contains(name) && seen_.insert(name).second) {
      found_.push_back(name);
    }
  }

  std::set<std::string> known_, seen_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> free_names(const onnx::GraphProto& graph) { return FreeNames().of(graph); }

}  // namespace tessera::import
