// SPDX-License-Identifier: Apache-2.0
#include "import/onnx_wire.h"

#include <charconv>

namespace tessera::import {
namespace {

// Field numbers of onnx.proto on the way from the model to a tensor's data.
constexpr std::uint32_t kModelGraph = 7, kModelFunctions = 25;
constexpr std::uint32_t kGraphNode = 1, kGraphInitializer = 5, kFunctionNode = 7;
constexpr std::uint32_t kNodeAttribute = 5;
constexpr std::uint32_t kAttributeTensor = 5, kAttributeGraph = 6, kAttributeTensors = 10,
                        kAttributeGraphs = 11;
constexpr std::uint32_t kTensorRawData = 9, kTensorDocString = 12;

enum class Message { kModel, kGraph, kFunction, kNode, kAttribute, kTensor, kOther };

// The message type of a length-delimited field, or kOther if we need not look inside.
Message child_of(Message parent, std::uint32_t field) {
  switch (parent) {
    case Message::kModel:
      if (field == kModelFunctions) return Message::kFunction;
      return field == kModelGraph ? Message::kGraph : Message::kOther;
    case Message::kGraph:
      if (field == kGraphInitializer) return Message::kTensor;
      return field == kGraphNode ? Message::kNode : Message::kOther;
    case Message::kFunction:
      return field == kFunctionNode ? Message::kNode : Message::kOther;
    case Message::kNode:
      return field == kNodeAttribute ? Message::kAttribute : Message::kOther;
    case Message::kAttribute:
      if (field == kAttributeTensor || field == kAttributeTensors) return Message::kTensor;
      return field == kAttributeGraph || field == kAttributeGraphs ? Message::kGraph
                                                                   : Message::kOther;
    default:
      return Message::kOther;
  }
}

void append_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void append_field(std::string& out, std::uint32_t field, std::string_view bytes) {
  append_varint(out, std::uint64_t{field} << 3 | 2);
  append_varint(out, bytes.size());
  out += bytes;
}

class Walk {
 public:
  explicit Walk(std::span<const std::byte> file) : file_(file) {}

  bool copy(std::uint64_t begin, std::uint64_t end, Message message, std::string& out, int depth) {
    if (depth > kDeepestMessage) {
      is_too_deep = true;
      return false;
    }
    std::uint64_t at = begin;
    while (at < end) {
      const std::uint64_t field_begin = at;
      std::uint64_t tag = 0, size = 0;
      if (!varint(at, end, tag)) return false;
      const auto field = static_cast<std::uint32_t>(tag >> 3);
      if ((tag & 7) != 2) {
        if (!skip(at, end, static_cast<int>(tag & 7))) return false;
        out += text(field_begin, at);
        continue;
      }
      if (!varint(at, end, size) || size > end - at) return false;
      if (!field_bytes(field, at, size, message, text(field_begin, at + size), out, depth))
        return false;
      at += size;
    }
    return true;
  }

  std::vector<RawData> raw;
  bool is_too_deep = false;

 private:
  bool field_bytes(std::uint32_t field, std::uint64_t at, std::uint64_t size, Message message,
                   std::string_view whole, std::string& out, int depth) {
    if (message == Message::kTensor && field == kTensorRawData && size >= kMappedBytes) {
      append_field(out, kTensorDocString, "raw:" + std::to_string(raw.size()));
      raw.push_back({at, size});
      return true;
    }
    if (message == Message::kTensor && field == kTensorDocString)
      return true;  // ours stands instead
    const Message child = child_of(message, field);
    if (child == Message::kOther) {
      out += whole;
      return true;
    }
    std::string inner;
    if (!copy(at, at + size, child, inner, depth + 1)) return false;
    append_field(out, field, inner);
    return true;
  }

  bool varint(std::uint64_t& at, std::uint64_t end, std::uint64_t& value) const {
    value = 0;
    for (int shift = 0; shift < 64 && at < end; shift += 7) {
      const auto byte = static_cast<std::uint8_t>(file_[at++]);
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  bool skip(std::uint64_t& at, std::uint64_t end, int wire_type) const {
    std::uint64_t ignored = 0;
    if (wire_type == 0) return varint(at, end, ignored);
    const std::uint64_t bytes = wire_type == 1 ? 8 : 4;
    if ((wire_type != 1 && wire_type != 5) || end - at < bytes) return false;
    at += bytes;
    return true;
  }

  std::string_view text(std::uint64_t begin, std::uint64_t end) const {
    return {reinterpret_cast<const char*>(file_.data()) + begin, end - begin};
  }

  std::span<const std::byte> file_;
};

}  // namespace

std::optional<std::size_t> mapped_index(std::string_view doc_string) {
  constexpr std::string_view prefix = "raw:";
  if (!doc_string.starts_with(prefix)) return std::nullopt;
  const char* end = doc_string.data() + doc_string.size();
  std::size_t index = 0;
  const auto [stop, ec] = std::from_chars(doc_string.data() + prefix.size(), end, index);
  return ec == std::errc() && stop == end ? std::optional(index) : std::nullopt;
}

Result<StrippedModel> strip_raw_data(std::span<const std::byte> file, const std::string& name) {
  StrippedModel stripped;
  Walk walk(file);
  if (!walk.copy(0, file.size(), Message::kModel, stripped.bytes, 0)) {
    if (walk.is_too_deep) {
      return fail(error(Code::kUnsupportedOnnxNode, {},
                        "`{}` has more than {} graphs within each other, which is not supported",
                        name, kDeepestMessage / 3)
                      .with_remedy("export the model with fewer If and Loop nodes within others"));
    }
    return fail(error(Code::kNotOnnx, {}, "`{}` is not an ONNX model, or it is truncated", name)
                    .with_remedy("check how the file was written or copied"));
  }
  stripped.raw = std::move(walk.raw);
  return stripped;
}

}  // namespace tessera::import
