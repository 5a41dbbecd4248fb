// SPDX-License-Identifier: Apache-2.0
// Attributes of calls and functions: plain values by name, and typed structs read from them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "types/dtype.h"

namespace tessera::relay {

struct AttrValue;
using AttrArray = std::vector<AttrValue>;

// None, bool, integer, float, string (data types are strings too) or an array of these.
struct AttrValue {
  std::variant<std::monostate, bool, std::int64_t, double, std::string, AttrArray> value;
  // The width of a number, in bits: `1i64` and `1` differ as attributes of functions. Fields
  // of operators have types of their own, normalize() drops this there.
  std::uint8_t width = 32;

  AttrValue() = default;
  AttrValue(bool v) : value(v) {}  // NOLINT: a value is an attribute
  AttrValue(std::int64_t v)        // NOLINT
      : value(v), width(v == static_cast<std::int32_t>(v) ? 32 : 64) {}
  AttrValue(int v) : value(std::int64_t{v}) {}                                             // NOLINT
  AttrValue(double v) : value(v) {}                                                        // NOLINT
  AttrValue(std::string v) : value(std::move(v)) {}                                        // NOLINT
  AttrValue(const char* v) : value(std::string(v)) {}                                      // NOLINT
  AttrValue(DType v) : value(to_string(v)) {}                                              // NOLINT
  AttrValue(AttrArray v) : value(std::move(v)) {}                                          // NOLINT
  AttrValue(const std::vector<std::int64_t>& v) : value(AttrArray(v.begin(), v.end())) {}  // NOLINT

  bool is_none() const { return value.index() == 0; }
  template <class T>
  const T* as() const {
    return std::get_if<T>(&value);
  }
  bool operator==(
      const AttrValue& o) const;  // 1 and 1.0 differ; true and 1 are equal (Relay has int booleans)
  std::uint64_t hash() const;
};

// Sorted by name. A call's attributes hold only what differs from the operator's defaults, so equal
// meaning is equal content; a function's hold everything that was set.
class Attrs {
 public:
  Attrs() = default;
  Attrs(std::initializer_list<std::pair<std::string, AttrValue>> entries);
  const AttrValue* find(std::string_view name) const;
  void set(std::string name, AttrValue value);
  void erase(std::string_view name);
  bool empty() const { return entries_.empty(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  // "" when there is no such string; 0 when there is no such integer (or bool).
  std::string string_or_empty(std::string_view name) const;
  std::int64_t int_or_zero(std::string_view name) const;
  bool operator==(const Attrs& o) const;
  std::uint64_t hash() const;

 private:
  std::vector<std::pair<std::string, AttrValue>> entries_;
};

// What a field of a typed attribute struct may be; the text forms are relay-spec 1.7's.
enum class AttrType : std::uint8_t {
  kBool,
  kInt,
  kFloat,
  kString,
  kDType,
  kInts,
  kFloats,
  kStrings,
  kIntLists,
  kAny
};

// What a value must satisfy besides its type. The text is read after "must be".
struct AttrRule {
  const char* text = nullptr;
  bool (*holds)(const AttrValue&) = nullptr;  // null: everything does
};

struct AttrField {
  std::string name;
  AttrType type = AttrType::kAny;
  bool required = false;
  bool nullable = false;  // None is a value
  AttrValue default_value;
  AttrRule rule;
};

// The fields of one operator's attributes, in declaration (printing) order.
struct AttrSchema {
  std::vector<AttrField> fields;
  const AttrField* find(std::string_view name) const;
  // Checks names, types and rules, converts (int to float, int to a list of one), drops defaults.
  // Returns the finding ("unknown attribute `axes`; it has: axis, keepdims") or nothing.
  std::optional<std::string> normalize(Attrs& attrs) const;
};

// ---- Typed structs
// ------------------------------------------------------------------------------- struct
// SoftmaxAttrs { std::int64_t axis = -1;
//   static constexpr auto fields = std::tuple{attr("axis", &SoftmaxAttrs::axis)}; };

template <class S, class T>
struct AttrMember {
  const char* name;
  T S::*member;
  bool required;
  AttrRule rule;
};
template <class S, class T>
constexpr AttrMember<S, T> attr(const char* name, T S::*member, AttrRule rule = {}) {
  return {name, member, false, rule};
}
template <class S, class T>
constexpr AttrMember<S, T> required_attr(const char* name, T S::*member, AttrRule rule = {}) {
  return {name, member, true, rule};
}

// Conversions between C++ field types and AttrValue; specialised in attributes.cc for bool, int64,
// double, string, DType, vectors of int64, double and string, vector of vector of int64, AttrValue
// and optionals.
template <class T>
struct AttrCodec;
#define TESSERA_ATTR_CODEC(T)                \
  template <>                                \
  struct AttrCodec<T> {                      \
    static AttrType type();                  \
    static bool nullable();                  \
    static AttrValue encode(const T& value); \
    static T decode(const AttrValue& value); \
  }
TESSERA_ATTR_CODEC(bool);
TESSERA_ATTR_CODEC(std::int64_t);
TESSERA_ATTR_CODEC(double);
TESSERA_ATTR_CODEC(std::string);
TESSERA_ATTR_CODEC(DType);
TESSERA_ATTR_CODEC(std::vector<std::int64_t>);
TESSERA_ATTR_CODEC(std::vector<double>);
TESSERA_ATTR_CODEC(std::vector<std::string>);
TESSERA_ATTR_CODEC(std::vector<std::vector<std::int64_t>>);
TESSERA_ATTR_CODEC(AttrValue);
#undef TESSERA_ATTR_CODEC
template <class T>
struct AttrCodec<std::optional<T>> {
  static AttrType type() { return AttrCodec<T>::type(); }
  static bool nullable() { return true; }
  static AttrValue encode(const std::optional<T>& v) {
    return v ? AttrCodec<T>::encode(*v) : AttrValue();
  }
  static std::optional<T> decode(const AttrValue& v) {
    return v.is_none() ? std::nullopt : std::optional<T>(AttrCodec<T>::decode(v));
  }
};

// The schema of S, made once. Its address is what an Operator record holds: `.attrs =
// attr_schema<S>`.
template <class S>
const AttrSchema& attr_schema() {
  static const AttrSchema schema = [] {
    AttrSchema s;
    const S defaults{};
    auto add = [&]<class T>(const AttrMember<S, T>& m) {
      s.fields.push_back({m.name, AttrCodec<T>::type(), m.required, AttrCodec<T>::nullable(),
                          AttrCodec<T>::encode(defaults.*(m.member)), m.rule});
    };
    std::apply([&](const auto&... m) { (add(m), ...); }, S::fields);
    return s;
  }();
  return schema;
}

// The attributes as S; needs `attrs` normalised for S's schema.
template <class S>
S read_attrs(const Attrs& attrs) {
  S out{};
  auto read = [&]<class T>(const AttrMember<S, T>& m) {
    if (const AttrValue* v = attrs.find(m.name)) out.*(m.member) = AttrCodec<T>::decode(*v);
  };
  std::apply([&](const auto&... m) { (read(m), ...); }, S::fields);
  return out;
}
// The inverse: required fields, and the others where they differ from their default.
template <class S>
Attrs write_attrs(const S& values) {
  Attrs out;
  const S defaults{};
  auto write = [&]<class T>(const AttrMember<S, T>& m) {
    AttrValue v = AttrCodec<T>::encode(values.*(m.member));
    if (m.required || !(v == AttrCodec<T>::encode(defaults.*(m.member))))
      out.set(m.name, std::move(v));
  };
  std::apply([&](const auto&... m) { (write(m), ...); }, S::fields);
  return out;
}

// For operators without attributes.
struct NoAttrs {
  static constexpr auto fields = std::tuple<>{};
};

}  // namespace tessera::relay
