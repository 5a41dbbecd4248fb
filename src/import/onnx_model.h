// SPDX-License-Identifier: Apache-2.0
// An ONNX file that was read: its protobuf message and the tensors behind it.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "constants/tensor.h"
#include "diagnostics/diagnostic.h"
#include "onnx.pb.h"

namespace tessera::import {

class OnnxModel {
 public:
  // Maps the file; weights stay in it. Missing, empty, truncated and foreign files are told apart.
  static Result<OnnxModel> read(const std::string& path);

  const onnx::ModelProto& proto() const { return *proto_; }
  const std::string& path() const { return path_; }
  // The opset of the default domain.
  int opset() const { return opset_; }
  // The tensor's data: mapped from the model or an external file, or copied from typed fields.
  Result<Tensor> tensor(const onnx::TensorProto& t, const Location& at) const;

 private:
  Result<std::shared_ptr<const Blob>> data_of(const onnx::TensorProto& t, std::uint64_t bytes,
                                              const Location& at) const;
  Result<std::shared_ptr<const Blob>> external(const onnx::TensorProto& t, std::uint64_t bytes,
                                               const Location& at) const;

  std::string path_;
  std::shared_ptr<const onnx::ModelProto> proto_;
  std::shared_ptr<const Blob> file_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> raw_;  // offset, size
  int opset_ = 1;
};

// ONNX's number of a data type, or nothing for strings, complex and types that tessera does not have.
std::optional<DType> onnx_dtype(int data_type);

}  // namespace tessera::import
