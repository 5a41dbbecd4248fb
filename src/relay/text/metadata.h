// SPDX-License-Identifier: Apache-2.0
// The metadata section of a text (relay-spec 1.9): what `meta[relay.Constant][i]`,
// `meta[tir.SizeVar][i]` and `meta[VirtualDevice][i]` stand for.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "constants/tensor.h"

namespace tessera::relay {

// Numbers constants in order of first use. Mentions of one share a number; two that are merely
// equal have two (relay/constant_mentions.h).
class ConstantTable {
 public:
  std::size_t index_of(const Tensor& tensor);
  const std::vector<Tensor>& tensors() const { return tensors_; }

 private:
  std::vector<Tensor> tensors_;
  std::unordered_map<const Blob*, std::vector<std::size_t>> by_bytes_;  // never iterated
};

// The JSON text after `#[metadata]`. Equal data are in it once.
std::string metadata_json(const std::vector<Tensor>& constants);

struct Metadata {
  std::vector<Tensor> constants;
  std::map<std::string, std::vector<std::string>> size_vars;  // names by type key, `tir.SizeVar`
  std::vector<std::string> virtual_devices;                   // "cpu:0"
};
// What the JSON text holds of constants, size variables and virtual devices; other objects are
// passed over. In a
// failed result the messages lie at `at`.
Result<Metadata> parse_metadata(std::string_view json, const Location& at);

}  // namespace tessera::relay
