// SPDX-License-Identifier: Apache-2.0
#include "emit/host_writer.h"

#include <algorithm>

#include "emit/c_text.h"
#include "emit/host_shapes.h"

namespace tessera::emit {
namespace {

using tir::Buffer;

// Models name values as they like: `and`, `or`, `new`.
std::set<std::string> names_in_use() {
  std::set<std::string> names = {"frame", "status", "buffers", "tensors", "dims", "bytes", "shape"};
  for (const std::string_view word : reserved_words()) names.emplace(word);
  return names;
}

}  // namespace

Source shape_text(const tir::BufferNode& b) {
  Source out = c_comment(to_string(b.dtype)) + "[";
  for (std::size_t i = 0; i < b.shape.size(); ++i) {
    const std::int64_t* n = tir::as_int(b.shape[i]);
    out +=
        source("{}{}", i == 0 ? Literal("") : ",", n == nullptr ? Source("?") : source("{}", *n));
  }
  return out + "]";
}

bool all_numbers(const std::vector<tir::Expr>& sizes) {
  return std::all_of(sizes.begin(), sizes.end(),
                     [](const tir::Expr& e) { return tir::as_int(e) != nullptr; });
}

HostWriter::HostWriter(const tir::PrimFunc& main, const std::set<std::string>& functions) {
  for (const std::string& word : names_in_use()) {
    scope_.names.fresh(word);
    taken_.fresh(word);
  }
  // What is called must not be hidden by a tensor of that name.
  for (const std::string& function : functions) {
    scope_.names.fresh(function);
    taken_.fresh(function);
  }
  dims_ = define_dims(main, scope_, "frame->dims");
  for (const tir::Expr& dim : main.dims) taken_.fresh(scope_.name(dim).text());
}

void HostWriter::open_function(const Source& name) {
  line("static int32_t {}(const tessera_frame* frame) {{", name);
  line("  int32_t status = 0;");
  out_ += dims_;
  defined_here_.clear();
}

void HostWriter::close_function() {
  line("  return status;");
  line("}}");
}

Source HostWriter::take_name(const Buffer& buffer) {
  return names_[buffer.get()] = c_name(taken_.fresh(c_identifier(buffer->name)));
}

void HostWriter::define(const Buffer& buffer, const Source& pointer) {
  line("  void* const {} = {};  // {}", take_name(buffer), pointer, shape_text(*buffer));
  pointers_[buffer.get()] = pointer;
  defined_here_.insert(buffer.get());
}

void HostWriter::define_without_memory(const Buffer& buffer) {
  line("  void* {} = nullptr;  // {}", take_name(buffer), shape_text(*buffer));
}

void HostWriter::define_view(const Buffer& buffer, const Buffer& source) {
  define_again(source);
  define(buffer, name(source));
  const auto pointer = pointers_.find(source.get());
  if (pointer != pointers_.end()) pointers_[buffer.get()] = pointer->second;
}

void HostWriter::define_again(const Buffer& buffer) {
  const auto pointer = pointers_.find(buffer.get());
  if (pointer == pointers_.end() || !defined_here_.insert(buffer.get()).second) return;
  line("  void* const {} = {};  // {}", name(buffer), pointer->second, shape_text(*buffer));
}

void HostWriter::define_size(const tir::LetStmt& let) {
  const Source value = size_text(let.value);
  scope_.bounds.set(let.var, {0, tir::Interval::kAny});
  line("  [[maybe_unused]] const int64_t {} = {};", scope_.name(let.var), value);
}

const Source& HostWriter::name(const Buffer& buffer) const {
  const auto it = names_.find(buffer.get());
  TESSERA_CHECK(it != names_.end(), "`{}` is used outside of its scope", buffer->name);
  return it->second;
}

Source HostWriter::element(const Buffer& buffer, const std::vector<tir::Expr>& indices) {
  return source("((int64_t*){})[{}]", name(buffer), expr_text(indices.at(0), scope_));
}

Source HostWriter::size_text(const tir::Expr& e) {
  const auto* load = e.as<tir::Load>();
  return load != nullptr ? element(load->buffer, load->indices) : expr_text(e, scope_);
}

Source HostWriter::list_of(const std::vector<tir::Expr>& sizes) {
  Source text;
  for (const tir::Expr& e : sizes) text += (text.empty() ? Literal("") : ", ") + size_text(e);
  return text;
}

Source HostWriter::byte_count(const Buffer& buffer) {
  Source bytes = source("{}", buffer->dtype.size_bytes());
  for (const tir::Expr& e : buffer->shape) {
    const bool atom = tir::as_int(e) != nullptr || e.as<tir::Var>() || e.as<tir::Load>();
    bytes += atom ? source(" * {}", size_text(e)) : source(" * ({})", size_text(e));
  }
  return bytes;
}

}  // namespace tessera::emit
