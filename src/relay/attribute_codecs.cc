// SPDX-License-Identifier: Apache-2.0
// Conversions between the C++ types of attribute fields and AttrValue. `decode` needs a value that
// AttrSchema::normalize accepted.
#include "relay/attributes.h"
#include "support/check.h"

namespace tessera::relay {

namespace {

template <class T>
const T& get(const AttrValue& value, const char* what) {
  const T* v = value.as<T>();
  TESSERA_CHECK(v != nullptr, "attribute is no {}: the attributes were not normalised", what);
  return *v;
}

template <class T>
AttrValue encode_list(const std::vector<T>& list) {
  AttrArray out;
  out.reserve(list.size());
  for (const T& item : list) out.push_back(AttrCodec<T>::encode(item));
  return out;
}

template <class T>
std::vector<T> decode_list(const AttrValue& value) {
  std::vector<T> out;
  const auto& array = get<AttrArray>(value, "list");
  out.reserve(array.size());
  for (const AttrValue& item : array) out.push_back(AttrCodec<T>::decode(item));
  return out;
}

}  // namespace

#define TESSERA_CODEC(T, kind, can_be_none)                \
  AttrType AttrCodec<T>::type() { return AttrType::kind; } \
  bool AttrCodec<T>::nullable() { return can_be_none; }

TESSERA_CODEC(bool, kBool, false)
AttrValue AttrCodec<bool>::encode(const bool& v) { return v; }
bool AttrCodec<bool>::decode(const AttrValue& v) {
  if (const auto* i = v.as<std::int64_t>()) return *i != 0;
  return get<bool>(v, "bool");
}

TESSERA_CODEC(std::int64_t, kInt, false)
AttrValue AttrCodec<std::int64_t>::encode(const std::int64_t& v) { return v; }
std::int64_t AttrCodec<std::int64_t>::decode(const AttrValue& v) {
  if (const auto* b = v.as<bool>()) return *b ? 1 : 0;
  return get<std::int64_t>(v, "integer");
}

TESSERA_CODEC(double, kFloat, false)
AttrValue AttrCodec<double>::encode(const double& v) { return v; }
double AttrCodec<double>::decode(const AttrValue& v) {
  if (const auto* i = v.as<std::int64_t>()) return static_cast<double>(*i);
  return get<double>(v, "number");
}

TESSERA_CODEC(std::string, kString, false)
AttrValue AttrCodec<std::string>::encode(const std::string& v) { return v; }
std::string AttrCodec<std::string>::decode(const AttrValue& v) {
  return get<std::string>(v, "string");
}

TESSERA_CODEC(DType, kDType, false)
AttrValue AttrCodec<DType>::encode(const DType& v) { return v; }
DType AttrCodec<DType>::decode(const AttrValue& v) {
  const auto dtype = parse_dtype(get<std::string>(v, "data type"));
  TESSERA_CHECK(dtype.has_value(), "attribute is no data type: the attributes were not normalised");
  return *dtype;
}

TESSERA_CODEC(std::vector<std::int64_t>, kInts, false)
AttrValue AttrCodec<std::vector<std::int64_t>>::encode(const std::vector<std::int64_t>& v) {
  return v;
}
std::vector<std::int64_t> AttrCodec<std::vector<std::int64_t>>::decode(const AttrValue& v) {
  return decode_list<std::int64_t>(v);
}

TESSERA_CODEC(std::vector<double>, kFloats, false)
AttrValue AttrCodec<std::vector<double>>::encode(const std::vector<double>& v) {
  return encode_list(v);
}
std::vector<double> AttrCodec<std::vector<double>>::decode(const AttrValue& v) {
  return decode_list<double>(v);
}

TESSERA_CODEC(std::vector<std::string>, kStrings, false)
AttrValue AttrCodec<std::vector<std::string>>::encode(const std::vector<std::string>& v) {
  return encode_list(v);
}
std::vector<std::string> AttrCodec<std::vector<std::string>>::decode(const AttrValue& v) {
  return decode_list<std::string>(v);
}

TESSERA_CODEC(std::vector<std::vector<std::int64_t>>, kIntLists, false)
AttrValue AttrCodec<std::vector<std::vector<std::int64_t>>>::encode(
    const std::vector<std::vector<std::int64_t>>& v) {
  return encode_list(v);
}
std::vector<std::vector<std::int64_t>> AttrCodec<std::vector<std::vector<std::int64_t>>>::decode(
    const AttrValue& v) {
  return decode_list<std::vector<std::int64_t>>(v);
}

TESSERA_CODEC(AttrValue, kAny, true)
AttrValue AttrCodec<AttrValue>::encode(const AttrValue& v) { return v; }
AttrValue AttrCodec<AttrValue>::decode(const AttrValue& v) { return v; }

#undef TESSERA_CODEC

}  // namespace tessera::relay
