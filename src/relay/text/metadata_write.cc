// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "relay/text/array_blob.h"
#include "relay/text/base64.h"
#include "relay/text/metadata.h"

namespace tessera::relay {

std::size_t ConstantTable::index_of(const Tensor& tensor) {
  auto& mentions = by_bytes_[tensor.blob.get()];
  for (std::size_t index : mentions) {
    if (tensors_[index].type() == tensor.type()) return index;
  }
  mentions.push_back(tensors_.size());
  tensors_.push_back(tensor);
  return tensors_.size() - 1;
}

namespace {

// Everything before the data; padded by nothing, so it is written apart from the data.
std::string array_header(const Tensor& t) {
  std::string out;
  const auto put = [&](const auto& value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  put(kArrayMagic);
  put(std::uint64_t{0});
  put(std::int32_t{1});  // on the CPU
  put(std::int32_t{0});
  put(static_cast<std::int32_t>(t.shape.size()));
  put(t.dtype.is_bool() ? kOldBoolCode : static_cast<std::uint8_t>(t.dtype.code));
  put(t.dtype.is_bool() ? kOldBoolBits : t.dtype.bits);
  put(t.dtype.lanes);
  for (std::int64_t d : t.shape) put(d);
  put(t.size_bytes());
  return out;
}

void append_array(std::string& out, const Tensor& t) {
  const std::string header = array_header(t);
  const auto data = t.blob->bytes();
  // Base64 works in groups of three bytes: the header's last group takes in the first data bytes.
  const std::size_t borrowed = std::min((3 - header.size() % 3) % 3, data.size());
  std::vector<std::byte> first(header.size() + borrowed);
  std::memcpy(first.data(), header.data(), header.size());
  if (borrowed > 0) std::memcpy(first.data() + header.size(), data.data(), borrowed);
  append_base64(out, first);
  append_base64(out, data.subspan(borrowed));
}

// Nodes: 0 null, 1 the map, 2 the array, 3 and 4 the device that all constants are on, then these.
constexpr std::size_t kFirstConstant = 5;

// `arrays`: by constant, the number of its data.
std::string nodes_text(const std::vector<std::size_t>& arrays) {
  const std::size_t num_constants = arrays.size();
  std::string out = R"(    {"type_key": ""}, )";
  out += "\n    ";
  out += R"({"type_key": "Map", "keys": ["relay.Constant"], "data": [2]}, )";
  out += "\n    ";
  out += R"({"type_key": "Array", "data": [)";
  for (std::size_t i = 0; i < num_constants; ++i) {
    fmt::format_to(std::back_inserter(out), "{}{}", i > 0 ? ", " : "", kFirstConstant + i);
  }
  out += "]}, \n    ";
  out += R"({"type_key": "VirtualDevice", "attrs": {"device_type_int": "-1", )";
  out += R"("memory_scope": "4", "target": "0", "virtual_device_id": "-1"}}, )";
  out += "\n    ";
  out += R"({"type_key": "runtime.String"})";
  for (std::size_t i = 0; i < num_constants; ++i) {
    out += ", \n    ";
    out += R"({"type_key": "relay.Constant", "attrs": {"_checked_type_": "0", "data": ")";
    out += std::to_string(arrays[i]);
    out += R"(", "span": "0", "virtual_device_": "3"}})";
  }
  return out;
}

}  // namespace

std::string metadata_json(const std::vector<Tensor>& constants) {
  std::vector<const Tensor*> distinct;
  std::vector<std::size_t> arrays;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> by_hash;
  for (const Tensor& t : constants) {
    auto& same_hash = by_hash[t.hash()];
    const auto known = std::find_if(same_hash.begin(), same_hash.end(),
                                    [&](std::size_t i) { return *distinct[i] == t; });
    arrays.push_back(known != same_hash.end() ? *known : distinct.size());
    if (known != same_hash.end()) continue;
    same_hash.push_back(distinct.size());
    distinct.push_back(&t);
  }
  std::string out = "{\n  \"root\": 1, \n  \"nodes\": [\n" + nodes_text(arrays);
  out += "\n  ], \n  \"b64ndarrays\": [";
  for (std::size_t i = 0; i < distinct.size(); ++i) {
    out += i > 0 ? ", \n    \"" : "\n    \"";
    append_array(out, *distinct[i]);
    out += '"';
  }
  out += "\n  ], \n  \"attrs\": {\"tvm_version\": \"0.10.0\"}\n}";
  return out;
}

}  // namespace tessera::relay
