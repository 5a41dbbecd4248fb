// SPDX-License-Identifier: Apache-2.0
// An ONNX file that was read: its protobuf message and the tensors behind it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>

#include "import/onnx_tensor.h"
#include "import/onnx_wire.h"

namespace tessera::import {

inline constexpr int kNewestOpset = 28;

class OnnxModel {
 public:
  // Maps the file; weights stay in it. Missing, empty, truncated and foreign files are told apart.
  static Result<OnnxModel> read(const std::string& path);

  const onnx::ModelProto& proto() const { return *proto_; }
  const std::string& path() const { return path_; }
  // The opset of the default domain.
  int opset() const { return opset_; }
  // The size of the file and of the files with its data that were mapped so far.
  std::uint64_t size_bytes() const;
  // The function of the model that a node calls, or null.
  const onnx::FunctionProto* function(const onnx::NodeProto& call) const;
  // The tensor's data: mapped from the model or an external file, or copied from typed fields.
  Result<Tensor> tensor(const onnx::TensorProto& t, const Location& at) const;

 private:
  Result<std::shared_ptr<const Blob>> external(const onnx::TensorProto& t, std::uint64_t bytes,
                                               const Location& at) const;
  Result<std::shared_ptr<const Blob>> external_file(const onnx::TensorProto& t,
                                                    const std::string& location,
                                                    const Location& at) const;

  // Domain, name and overload; of several of the same the first.
  using FunctionName = std::tuple<std::string_view, std::string_view, std::string_view>;

  std::string path_;
  std::shared_ptr<const onnx::ModelProto> proto_;
  std::shared_ptr<const Blob> file_;
  std::map<FunctionName, const onnx::FunctionProto*> functions_;  // of proto_
  std::vector<RawData> raw_;
  mutable std::map<std::string, std::shared_ptr<const Blob>> external_files_;  // mapped once
  int opset_ = 1;
};

// Is this the default domain of ONNX, which has two names?
bool is_default_domain(const std::string& domain);
// "ai.onnx" for the default one.
std::string domain_name(const std::string& domain);
// The opset of the default domain among a model's or function's imports; 1 if there is none.
template <class Imports>
int default_opset(const Imports& imports) {
  int opset = 1;
  for (const auto& import : imports) {
    if (is_default_domain(import.domain())) opset = static_cast<int>(import.version());
  }
  return opset;
}
// The opsets of all other domains.
template <class Imports>
std::map<std::string, int> other_opsets(const Imports& imports) {
  std::map<std::string, int> opsets;
  for (const auto& import : imports) {
    if (!is_default_domain(import.domain())) {
      opsets[import.domain()] = static_cast<int>(import.version());
    }
  }
  return opsets;
}

}  // namespace tessera::import
