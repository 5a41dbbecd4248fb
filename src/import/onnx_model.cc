// SPDX-License-Identifier: Apache-2.0
#include "import/onnx_model.h"

#include <charconv>
#include <filesystem>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

namespace tessera::import {
namespace {

namespace fs = std::filesystem;

Diagnostic file_error(Code code, const std::string& path, std::string_view finding) {
  return error(code, {}, "`{}` {}", path, finding);
}

Result<void> check_file(const std::string& path) {
  std::error_code ec;
  if (!fs::exists(path, ec)) {
    return fail(
        file_error(Code::kFileNotFound, path, "does not exist").with_remedy("check the path"));
  }
  if (fs::is_directory(path, ec)) {
    return fail(file_error(Code::kFileNotFound, path, "is a folder, not a model file")
                    .with_remedy("name the file `model.onnx` inside it"));
  }
  if (!fs::is_regular_file(path, ec)) {
    return fail(file_error(Code::kUntrustedFile, path, "is a pipe or a device, not a file")
                    .with_remedy("write the model to a file: its weights are read from there"));
  }
  if (fs::file_size(path, ec) == 0 && !ec) {
    return fail(
        file_error(Code::kFileEmpty, path, "is empty").with_remedy("write the model again"));
  }
  return {};
}

bool parse(const std::string& bytes, onnx::ModelProto& model) {
  google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  google::protobuf::io::CodedInputStream input(&stream);
  input.SetRecursionLimit(2 * kDeepestMessage);  // the walk before has seen the depth
  return model.ParseFromCodedStream(&input) && input.ConsumedEntireMessage();
}

bool has_content(const onnx::ModelProto& model) {
  return model.has_graph() && (model.ir_version() > 0 || model.opset_import_size() > 0);
}

Result<void> check_opset(const std::string& path, const onnx::ModelProto& model, int opset) {
  // Before IR version 3 a model did not say it.
  if (model.opset_import_size() == 0 && model.ir_version() >= 3) {
    return fail(
        error(Code::kBadOnnxGraph, {},
              "`{}` does not say which opset its operators are of (`opset_import` is empty)", path)
            .with_remedy("export the model again, or name the opset in opset_import"));
  }
  if (opset < 1) {
    return fail(
        error(Code::kBadOnnxGraph, {}, "`{}` is of opset {}; opsets begin with 1", path, opset)
            .with_remedy("export the model again, or correct its opset_import"));
  }
  if (opset <= kNewestOpset) return {};
  return fail(error(Code::kUnsupportedOnnxNode, {},
                    "`{}` is of opset {}; opsets up to {} can be read", path, opset, kNewestOpset)
                  .with_remedy("export it with that opset, or convert it with "
                               "onnx.version_converter"));
}

// Would `location`, seen from the model's folder, lead out of it?
bool escapes(const fs::path& location) {
  if (location.is_absolute()) return true;
  const fs::path normal = location.lexically_normal();
  return normal.begin() != normal.end() && *normal.begin() == "..";
}

// Does a file lie, with all links followed, in the folder that the model seems to lie in, or in the
// one that it does lie in? Caches of downloads keep both files elsewhere, side by side, under
// links.
bool is_beside(const fs::path& file, const fs::path& model) {
  std::error_code ec;
  const fs::path real = fs::canonical(file, ec);
  if (ec) return false;
  for (const fs::path& folder : {fs::canonical(fs::absolute(model).parent_path(), ec),
                                 fs::canonical(model, ec).parent_path()}) {
    if (!folder.empty() && !escapes(real.lexically_relative(folder))) return true;
  }
  return false;
}

// The integers of an external tensor's entry; false for anything else.
bool read_number(const std::string& text, std::uint64_t& value) {
  const char* end = text.data() + text.size();
  const auto [stop, ec] = std::from_chars(text.data(), end, value);
  return ec == std::errc() && stop == end;
}

}  // namespace

bool is_default_domain(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

std::string domain_name(const std::string& domain) {
  return is_default_domain(domain) ? "ai.onnx" : domain;
}

Result<OnnxModel> OnnxModel::read(const std::string& path) {
  TESSERA_TRY_VOID(check_file(path));
  OnnxModel model;
  model.path_ = path;
  TESSERA_TRY(model.file_, Blob::map_file(path));
  TESSERA_TRY(StrippedModel stripped, strip_raw_data(model.file_->bytes(), path));
  model.raw_ = std::move(stripped.raw);
  auto proto = std::make_shared<onnx::ModelProto>();
  if (!parse(stripped.bytes, *proto) || !has_content(*proto)) {
    return fail(file_error(Code::kNotOnnx, path, "is not an ONNX model, or it is truncated")
                    .with_remedy("check how the file was written or copied"));
  }
  model.opset_ = default_opset(proto->opset_import());
  TESSERA_TRY_VOID(check_opset(path, *proto, model.opset_));
  for (const onnx::FunctionProto& f : proto->functions()) {
    model.functions_.emplace(FunctionName{f.domain(), f.name(), f.overload()}, &f);
  }
  model.proto_ = std::move(proto);
  return model;
}

std::uint64_t OnnxModel::size_bytes() const {
  std::uint64_t bytes = file_->size_bytes();
  for (const auto& [name, file] : external_files_) bytes += file->size_bytes();
  return bytes;
}

const onnx::FunctionProto* OnnxModel::function(const onnx::NodeProto& call) const {
  const auto it = functions_.find({call.domain(), call.op_type(), call.overload()});
  return it == functions_.end() ? nullptr : it->second;
}

Result<Tensor> OnnxModel::tensor(const onnx::TensorProto& t, const Location& at) const {
  TESSERA_TRY(TensorHeader header, tensor_header(t, at));
  std::shared_ptr<const Blob> data;
  if (t.data_location() == onnx::TensorProto::EXTERNAL) {
    TESSERA_TRY(data, external(t, header.size_bytes, at));
  } else if (const auto index = mapped_index(t.doc_string()); index && *index < raw_.size()) {
    data = Blob::slice(file_, raw_[*index].offset, raw_[*index].size);
  } else {
    data = inline_data(t, header.dtype);
  }
  return make_tensor(t, std::move(header), std::move(data), at);
}

Result<std::shared_ptr<const Blob>> OnnxModel::external(const onnx::TensorProto& t,
                                                        std::uint64_t bytes,
                                                        const Location& at) const {
  std::string location;
  std::uint64_t offset = 0, length = bytes;
  bool numbers = true;
  for (const auto& entry : t.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") numbers &= read_number(entry.value(), offset);
    if (entry.key() == "length") numbers &= read_number(entry.value(), length);
  }
  if (!numbers || location.empty()) {
    return fail(
        error(Code::kExternalData, at,
              "tensor `{}` is external, but its location, offset or length is missing or no "
              "number",
              t.name())
            .with_remedy("save the model again with onnx.save_model"));
  }
  TESSERA_TRY(const auto file, external_file(t, location, at));
  const std::uint64_t size = file->size_bytes();
  if (offset > size || length > size - offset) {
    return fail(
        error(Code::kExternalData, at, "tensor `{}` needs {} bytes at {} of `{}`, which has {}",
              t.name(), length, offset, location, size)
            .with_remedy("the file is truncated, or belongs to another model: copy it again"));
  }
  return Blob::slice(file, offset, length);
}

Result<std::shared_ptr<const Blob>> OnnxModel::external_file(const onnx::TensorProto& t,
                                                             const std::string& location,
                                                             const Location& at) const {
  if (const auto it = external_files_.find(location); it != external_files_.end()) {
    return it->second;
  }
  if (escapes(location)) {
    return fail(error(Code::kExternalData, at,
                      "tensor `{}` lies in `{}`, which leads out of the model's folder", t.name(),
                      location)
                    .with_remedy("copy the file beside the model and save the model with that "
                                 "location"));
  }
  const fs::path path = fs::path(path_).parent_path() / location;
  std::error_code ec;
  if (fs::exists(path, ec) && !(fs::is_regular_file(path, ec) && is_beside(path, path_))) {
    return fail(error(Code::kUntrustedFile, at,
                      "tensor `{}` lies in `{}`, which is a link out of the model's folder, a "
                      "folder, a pipe or a device",
                      t.name(), path.string())
                    .with_remedy("put the file itself beside the model"));
  }
  auto file = Blob::map_file(path.string());
  if (!file) {
    return fail(
        error(Code::kExternalData, at,
              "tensor `{}` lies in the external file `{}`, which cannot be read or is empty",
              t.name(), path.string())
            .with_remedy("copy it beside the model"));
  }
  external_files_.emplace(location, *file);
  return std::move(*file);
}

}  // namespace tessera::import
