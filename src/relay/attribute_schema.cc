// SPDX-License-Identifier: Apache-2.0
// Checks attributes against a schema and brings them to the one form that equal meaning has.
#include <algorithm>

#include <fmt/format.h>

#include "relay/attributes.h"

namespace tessera::relay {

namespace {

std::string_view expectation(AttrType type) {
  switch (type) {
    case AttrType::kBool:
      return "True or False";
    case AttrType::kInt:
      return "an integer";
    case AttrType::kFloat:
      return "a number";
    case AttrType::kString:
      return "a string";
    case AttrType::kDType:
      return "a data type in quotes";
    case AttrType::kInts:
      return "a list of integers";
    case AttrType::kFloats:
      return "a list of numbers";
    case AttrType::kStrings:
      return "a list of strings";
    case AttrType::kIntLists:
      return "a list of lists of integers";
    case AttrType::kAny:
      break;
  }
  return "a value";
}

bool convert(AttrValue& v, AttrType type);

bool convert_to_list(AttrValue& v, AttrType element) {
  if (v.as<AttrArray>() == nullptr) {  // one number is a list of one
    if (element == AttrType::kInts || !convert(v, element)) return false;
    v = AttrArray{v};
    return true;
  }
  AttrArray items = *v.as<AttrArray>();
  for (AttrValue& item : items) {
    if (element == AttrType::kInts && item.as<AttrArray>() == nullptr) return false;
    if (!convert(item, element)) return false;
  }
  v = std::move(items);
  return true;
}

bool convert_to_int(AttrValue& v) {
  if (const auto* b = v.as<bool>()) v = std::int64_t{*b ? 1 : 0};
  const auto* i = v.as<std::int64_t>();
  if (i == nullptr) return false;
  v = std::int64_t{*i};
  return true;
}

bool convert_to_bool(AttrValue& v) {
  if (const auto* i = v.as<std::int64_t>(); i != nullptr && (*i == 0 || *i == 1)) v = *i == 1;
  return v.as<bool>() != nullptr;
}

bool convert_to_float(AttrValue& v) {
  if (const auto* i = v.as<std::int64_t>()) v = static_cast<double>(*i);
  const auto* d = v.as<double>();
  if (d == nullptr) return false;
  v = double{*d};
  return true;
}

bool convert_to_dtype(AttrValue& v) {
  const auto* s = v.as<std::string>();
  const auto dtype = s != nullptr ? parse_dtype(*s) : std::nullopt;
  if (dtype) v = *dtype;
  return dtype.has_value();
}

// Brings a value other than None to the field's form; false if it has none.
bool convert(AttrValue& v, AttrType type) {
  switch (type) {
    case AttrType::kAny:
      return true;
    case AttrType::kBool:
      return convert_to_bool(v);
    case AttrType::kInt:
      return convert_to_int(v);
    case AttrType::kFloat:
      return convert_to_float(v);
    case AttrType::kString:
      return v.as<std::string>() != nullptr;
    case AttrType::kDType:
      return convert_to_dtype(v);
    case AttrType::kInts:
      return convert_to_list(v, AttrType::kInt);
    case AttrType::kFloats:
      return convert_to_list(v, AttrType::kFloat);
    case AttrType::kStrings:
      return convert_to_list(v, AttrType::kString);
    case AttrType::kIntLists:
      return convert_to_list(v, AttrType::kInts);
  }
  return false;
}

// Old printers write an unset data type as an empty string or as `void`.
bool means_no_dtype(const AttrField& field, const AttrValue& v) {
  const auto* s = v.as<std::string>();
  return field.type == AttrType::kDType && field.nullable && s != nullptr &&
         (s->empty() || *s == "void");
}

std::string names_of(const AttrSchema& schema) {
  if (schema.fields.empty()) return "it has none";
  std::string out = "it has:";
  for (const AttrField& f : schema.fields) {
    out += out.back() == ':' ? " " : ", ";
    out += f.name;
  }
  return out;
}

}  // namespace

const AttrField* AttrSchema::find(std::string_view name) const {
  const auto it = std::find_if(fields.begin(), fields.end(),
                               [&](const AttrField& f) { return f.name == name; });
  return it != fields.end() ? &*it : nullptr;
}

std::optional<std::string> AttrSchema::normalize(Attrs& attrs) const {
  for (const auto& [name, value] : attrs) {
    if (find(name) == nullptr)
      return fmt::format("unknown attribute `{}`; {}", name, names_of(*this));
  }
  for (const AttrField& field : fields) {
    const AttrValue* given = attrs.find(field.name);
    if (given == nullptr) {
      if (field.required) return fmt::format("attribute `{}` is missing", field.name);
      continue;
    }
    AttrValue value = means_no_dtype(field, *given) ? AttrValue() : *given;
    const bool fits = value.is_none() ? field.nullable : convert(value, field.type);
    if (!fits) {
      return fmt::format("attribute `{}` must be {}{}", field.name, expectation(field.type),
                         field.nullable ? " or None" : "");
    }
    if (field.rule.holds != nullptr && !value.is_none() && !field.rule.holds(value)) {
      return fmt::format("attribute `{}` must be {}", field.name, field.rule.text);
    }
    if (!field.required && value == field.default_value) {
      attrs.erase(field.name);
    } else {
      attrs.set(field.name, std::move(value));
    }
  }
  return std::nullopt;
}

}  // namespace tessera::relay
