// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include <nlohmann/json.hpp>

#include "relay/text/array_blob.h"
#include "relay/text/base64.h"
#include "relay/text/metadata.h"
#include "relay/words.h"

namespace tessera::relay {

namespace {

using Json = nlohmann::json;

// Takes fixed-size values off the front of the bytes; `ok` turns false at the end of them.
struct ByteReader {
  std::span<const std::byte> rest;
  bool ok = true;

  template <class T>
  T take() {
    T value{};
    ok = ok && rest.size() >= sizeof value;
    if (!ok) return value;
    std::memcpy(&value, rest.data(), sizeof value);
    rest = rest.subspan(sizeof value);
    return value;
  }
};

std::optional<DType> read_dtype(ByteReader& in) {
  const auto code = in.take<std::uint8_t>(), bits = in.take<std::uint8_t>();
  const auto lanes = in.take<std::uint16_t>();
  if (code == kOldBoolCode && bits == kOldBoolBits) return kBool.with_lanes(lanes);
  const DType dtype{static_cast<TypeCode>(code), bits, lanes};
  return parse_dtype(to_string(dtype)) == dtype ? std::optional(dtype) : std::nullopt;
}

std::optional<Tensor> read_array(std::vector<std::byte> bytes) {
  ByteReader in{bytes};
  if (in.take<std::uint64_t>() != kArrayMagic) return std::nullopt;
  in.take<std::uint64_t>();
  in.take<std::uint64_t>();  // device
  const auto rank = in.take<std::int32_t>();
  const auto dtype = read_dtype(in);
  if (!dtype || !in.ok || rank < 0 || static_cast<std::size_t>(rank) > in.rest.size() / 8) {
    return std::nullopt;
  }
  std::vector<std::int64_t> shape(static_cast<std::size_t>(rank));
  std::int64_t size = dtype->size_bytes();
  bool fits = true;
  for (std::int64_t& d : shape) {
    d = in.take<std::int64_t>();
    fits = fits && d >= 0 && !__builtin_mul_overflow(size, d, &size);
  }
  const auto stated = in.take<std::int64_t>();
  if (!fits || !in.ok || stated != size || static_cast<std::size_t>(size) > in.rest.size()) {
    return std::nullopt;
  }
  const auto offset = bytes.size() - in.rest.size();
  auto whole = Blob::adopt(std::move(bytes));
  return Tensor(std::move(shape), *dtype,
                Blob::slice(std::move(whole), offset, static_cast<std::uint64_t>(size)));
}

// The parts of the JSON object that are read, with checked access.
class MetadataReader {
 public:
  MetadataReader(const Json& json, const Location& at) : json_(json), at_(at) {}

  Result<Metadata> run() {
    const Json* nodes = member(json_, "nodes");
    const Json* root = nodes != nullptr ? node(member(json_, "root")) : nullptr;
    const Json* keys = root != nullptr ? member(*root, "keys") : nullptr;
    const Json* lists = root != nullptr ? member(*root, "data") : nullptr;
    if (keys == nullptr || lists == nullptr || !keys->is_array() || !lists->is_array() ||
        keys->size() != lists->size()) {
      return bad("its root is not a map from type keys to arrays");
    }
    Metadata out;
    for (std::size_t i = 0; i < keys->size(); ++i) {
      if (!(*keys)[i].is_string()) return bad("a key of its root is not a string");
      const auto key = (*keys)[i].get<std::string>();
      const Json* list = node(&(*lists)[i]);
      const Json* items = list != nullptr ? member(*list, "data") : nullptr;
      TESSERA_TRY_VOID(read_list(key, items, out));
    }
    return out;
  }

 private:
  Unexpected<Diagnostics> bad(std::string_view what) const {
    return fail(error(Code::kBadMetadata, at_, "the metadata section cannot be read: {}", what));
  }

  static const Json* member(const Json& object, const char* name) {
    if (!object.is_object()) return nullptr;
    const auto it = object.find(name);
    return it != object.end() ? &*it : nullptr;
  }

  // A reference is a number, or a number in a string.
  static std::optional<std::size_t> as_index(const Json* value) {
    if (value == nullptr) return std::nullopt;
    if (value->is_number_unsigned()) return value->get<std::size_t>();
    if (!value->is_string()) return std::nullopt;
    const auto& digits = value->get_ref<const std::string&>();
    if (digits.empty() || digits.size() > 18) return std::nullopt;
    if (digits.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
    return std::stoull(digits);
  }

  const Json* element(const char* list, const Json* reference) const {
    const Json* items = member(json_, list);
    const auto index = as_index(reference);
    if (items == nullptr || !items->is_array() || !index || *index >= items->size()) return nullptr;
    return &(*items)[*index];
  }
  const Json* node(const Json* reference) const { return element("nodes", reference); }

  Result<void> read_list(const std::string& key, const Json* items, Metadata& out) const {
    const bool constants = key == "relay.Constant", vars = key == "tir.SizeVar" || key == "tir.Var";
    const bool devices = key == kVirtualDeviceKey;
    if (!constants && !vars && !devices) return {};
    if (items == nullptr || !items->is_array()) return bad("the list of `" + key + "` is missing");
    for (const Json& reference : *items) {
      const Json* object = node(&reference);
      const Json* attrs = object != nullptr ? member(*object, "attrs") : nullptr;
      if (attrs == nullptr) return bad("an object of `" + key + "` is missing");
      if (constants) {
        TESSERA_TRY(Tensor tensor, read_constant(*attrs));
        out.constants.push_back(std::move(tensor));
      } else if (devices) {
        out.virtual_devices.push_back(read_virtual_device(*attrs));
      } else {
        out.size_vars[key].push_back(read_name(*attrs));
      }
    }
    return {};
  }

  Result<Tensor> read_constant(const Json& attrs) const {
    const Json* text = element("b64ndarrays", member(attrs, "data"));
    if (text == nullptr || !text->is_string()) return bad("the data of a constant are missing");
    auto bytes = decode_base64(text->get_ref<const std::string&>());
    if (!bytes) return bad("the data of a constant are not base64");
    auto tensor = read_array(std::move(*bytes));
    if (!tensor) return bad("the data of a constant are damaged");
    return std::move(*tensor);
  }

  std::string read_name(const Json& attrs) const {
    const Json* string = node(member(attrs, "name"));
    const Json* text = string != nullptr ? member(*string, "repr_str") : nullptr;
    return text != nullptr && text->is_string() ? text->get<std::string>() : "";
  }

  // "cuda:1"; other devices than these two by number.
  static std::string read_virtual_device(const Json& attrs) {
    const std::size_t type = as_index(member(attrs, "device_type_int")).value_or(1);
    const std::size_t id = as_index(member(attrs, "virtual_device_id")).value_or(0);
    const std::string name = type == 1   ? "cpu"
                             : type == 2 ? "cuda"
                                         : "device" + std::to_string(type);
    return name + ":" + std::to_string(id);
  }

  const Json& json_;
  const Location& at_;
};

}  // namespace

Result<Metadata> parse_metadata(std::string_view text, const Location& at) {
  const Json json = Json::parse(text.begin(), text.end(), nullptr, false);
  if (json.is_discarded()) {
    return fail(error(Code::kBadMetadata, at, "the metadata section is not JSON text"));
  }
  return MetadataReader(json, at).run();
}

}  // namespace tessera::relay
