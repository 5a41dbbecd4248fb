// SPDX-License-Identifier: Apache-2.0
#include "import/onnx_model.h"

#include <charconv>
#include <filesystem>

#include "import/onnx_wire.h"

namespace tessera::import {
namespace {

namespace fs = std::filesystem;

Diagnostic file_error(Code code, const std::string& path, std::string_view finding) {
  return error(code, {}, "`{}` {}", path, finding);
}

Result<void> check_file(const std::string& path) {
  std::error_code ec;
  if (!fs::exists(path, ec)) {
    return fail(file_error(Code::kFileNotFound, path, "does not exist").with_remedy("check the path"));
  }
  if (fs::is_directory(path, ec)) {
    return fail(file_error(Code::kFileNotFound, path, "is a folder, not a model file"));
  }
  if (fs::file_size(path, ec) == 0) {
    return fail(file_error(Code::kFileEmpty, path, "is empty").with_remedy("write the model again"));
  }
  return {};
}

bool has_content(const onnx::ModelProto& model) {
  return model.has_graph() && (model.ir_version() > 0 || model.opset_import_size() > 0);
}

// Values of a typed field as the bytes of dtype, whose elements are narrower or equal.
template <class Field>
std::shared_ptr<const Blob> pack(const Field& values, DType dtype) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(values.size()) *
                               static_cast<std::size_t>(dtype.size_bytes()));
  std::size_t at = 0;
  for (const auto value : values) {
    std::memcpy(bytes.data() + at, &value, static_cast<std::size_t>(dtype.size_bytes()));
    at += static_cast<std::size_t>(dtype.size_bytes());
  }
  return Blob::adopt(std::move(bytes));
}

std::shared_ptr<const Blob> typed_data(const onnx::TensorProto& t, DType dtype) {
  if (t.float_data_size() > 0) return pack(t.float_data(), dtype);
  if (t.double_data_size() > 0) return pack(t.double_data(), dtype);
  if (t.int64_data_size() > 0) return pack(t.int64_data(), dtype);
  if (t.uint64_data_size() > 0) return pack(t.uint64_data(), dtype);
  return pack(t.int32_data(), dtype);  // also small integers, bools and the bits of float16
}

Result<std::vector<std::int64_t>> shape_of(const onnx::TensorProto& t, DType dtype,
                                           const Location& at) {
  std::vector<std::int64_t> shape(t.dims().begin(), t.dims().end());
  std::int64_t bytes = dtype.size_bytes();
  for (const std::int64_t n : shape) {
    if (n < 0) return fail(error(Code::kBadDimension, at, "tensor `{}` has the size {}", t.name(), n));
    if (__builtin_mul_overflow(bytes, n, &bytes)) {
      return fail(error(Code::kBadDimension, at, "the size of tensor `{}` overflows", t.name()));
    }
  }
  return shape;
}

}  // namespace

std::optional<DType> onnx_dtype(int data_type) {
  switch (data_type) {
    case onnx::TensorProto::FLOAT: return kFloat32;
    case onnx::TensorProto::DOUBLE: return kFloat64;
    case onnx::TensorProto::FLOAT16: return kFloat16;
    case onnx::TensorProto::BFLOAT16: return kBFloat16;
    case onnx::TensorProto::INT8: return kInt8;
    case onnx::TensorProto::INT16: return kInt16;
    case onnx::TensorProto::INT32: return kInt32;
    case onnx::TensorProto::INT64: return kInt64;
    case onnx::TensorProto::UINT8: return kUInt8;
    case onnx::TensorProto::UINT16: return kUInt16;
    case onnx::TensorProto::UINT32: return kUInt32;
    case onnx::TensorProto::UINT64: return kUInt64;
    case onnx::TensorProto::BOOL: return kBool;
    default: return std::nullopt;
  }
}

Result<OnnxModel> OnnxModel::read(const std::string& path) {
  TESSERA_TRY_VOID(check_file(path));
  OnnxModel model;
  model.path_ = path;
  TESSERA_TRY(model.file_, Blob::map_file(path, 0, fs::file_size(path)));
  TESSERA_TRY(StrippedModel stripped, strip_raw_data(model.file_->bytes(), path));
  for (const RawData& r : stripped.raw) model.raw_.emplace_back(r.offset, r.size);
  auto proto = std::make_shared<onnx::ModelProto>();
  if (!proto->ParseFromString(stripped.bytes) || !has_content(*proto)) {
    return fail(file_error(Code::kNotOnnx, path, "is not an ONNX model, or it is truncated")
                    .with_remedy("check how the file was written or copied"));
  }
  for (const auto& opset : proto->opset_import()) {
    if (opset.domain().empty() || opset.domain() == "ai.onnx") {
      model.opset_ = static_cast<int>(opset.version());
    }
  }
  model.proto_ = std::move(proto);
  return model;
}

Result<Tensor> OnnxModel::tensor(const onnx::TensorProto& t, const Location& at) const {
  const auto dtype = onnx_dtype(t.data_type());
  if (!dtype) {
    return fail(error(Code::kUnsupportedOnnxNode, at, "tensor `{}` has the data type {}", t.name(),
                      onnx::TensorProto::DataType_Name(t.data_type())));
  }
  TESSERA_TRY(std::vector<std::int64_t> shape, shape_of(t, *dtype, at));
  std::uint64_t bytes = static_cast<std::uint64_t>(dtype->size_bytes());
  for (const std::int64_t n : shape) bytes *= static_cast<std::uint64_t>(n);
  TESSERA_TRY(std::shared_ptr<const Blob> blob, data_of(t, bytes, at));
  if (blob->size_bytes() != bytes) {
    return fail(error(Code::kBadOnnxTensor, at, "tensor `{}` has {} bytes of data where its shape and "
                      "type need {}", t.name(), blob->size_bytes(), bytes));
  }
  return Tensor(std::move(shape), *dtype, std::move(blob));
}

Result<std::shared_ptr<const Blob>> OnnxModel::data_of(const onnx::TensorProto& t,
                                                       std::uint64_t bytes,
                                                       const Location& at) const {
  if (t.data_location() == onnx::TensorProto::EXTERNAL) return external(t, bytes, at);
  if (t.doc_string().starts_with("raw:")) {
    const std::size_t index = std::stoul(t.doc_string().substr(4));
    const auto [offset, size] = raw_.at(index);
    return Blob::slice(file_, offset, size);
  }
  if (t.has_raw_data()) {
    return Blob::copy_of(std::as_bytes(std::span(t.raw_data().data(), t.raw_data().size())));
  }
  return typed_data(t, *onnx_dtype(t.data_type()));
}

Result<std::shared_ptr<const Blob>> OnnxModel::external(const onnx::TensorProto& t,
                                                        std::uint64_t bytes,
                                                        const Location& at) const {
  std::string location;
  std::uint64_t offset = 0, length = bytes;
  for (const auto& entry : t.external_data()) {
    const std::string& v = entry.value();
    if (entry.key() == "location") location = v;
    if (entry.key() == "offset") std::from_chars(v.data(), v.data() + v.size(), offset);
    if (entry.key() == "length") std::from_chars(v.data(), v.data() + v.size(), length);
  }
  const fs::path file = fs::path(path_).parent_path() / location;
  std::error_code ec;
  const std::uint64_t size = location.empty() ? 0 : fs::file_size(file, ec);
  if (ec || location.empty()) {
    return fail(error(Code::kExternalData, at, "tensor `{}` needs the external file `{}`, which cannot "
                      "be read", t.name(), file.string())
                    .with_remedy("copy it beside the model"));
  }
  if (offset > size || length > size - offset) {
    return fail(error(Code::kExternalData, at, "tensor `{}` needs bytes {} to {} of `{}`, which has {}",
                      t.name(), offset, offset + length, file.string(), size)
                    .with_remedy("the file is truncated, or belongs to another model"));
  }
  return Blob::map_file(file.string(), offset, length);
}

}  // namespace tessera::import
