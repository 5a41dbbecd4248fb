// SPDX-License-Identifier: Apache-2.0
// One walk over the wire format of a model file: finds the raw data of tensors, so that weights are
// mapped from the file and never pass through protobuf.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diagnostics/diagnostic.h"

namespace tessera::import {

// Where the bytes of one TensorProto.raw_data lie in the file.
struct RawData {
  std::uint64_t offset = 0, size = 0;
};

// The model without the raw data of tensors of at least `kMappedBytes`. Such a tensor has, instead
// of raw_data, the doc_string "raw:<index into raw>"; no other tensor of the model keeps a
// doc_string.
struct StrippedModel {
  std::string bytes;
  std::vector<RawData> raw;
};
inline constexpr std::uint64_t kMappedBytes = 256;
// The index that such a doc_string holds.
std::optional<std::size_t> mapped_index(std::string_view doc_string);

// Graphs within graphs deeper than this are refused: each takes three messages.
inline constexpr int kDeepestMessage = 600;

// `file` is the whole mapped file; nothing but its structure is read. Not a protobuf message:
// kNotOnnx.
Result<StrippedModel> strip_raw_data(std::span<const std::byte> file, const std::string& name);

}  // namespace tessera::import
