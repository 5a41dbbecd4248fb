// SPDX-License-Identifier: Apache-2.0
#include "runtime/json.h"

#include <cstring>

namespace tessera::runtime {
namespace {

bool is_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-' || c == '+' || c == '.' ||
         c == 'E';
}

}  // namespace

// Containers that are open are the chain of parents, so depth costs no stack.
bool JsonDocument::parse(std::string_view text) {
  input_ = text;
  do {
    skip_space();
    if (at_ == input_.size()) return fail("the text ends inside of a value");
    const char c = input_[at_];
    const bool empty = container_ != kNoJson && values_[container_].size == 0;
    if (container_ != kNoJson && (c == ']' || c == '}')) {
      if (!close(c == ']' ? JsonKind::kArray : JsonKind::kObject)) return false;
      continue;
    }
    if (container_ != kNoJson && !empty && !take(',')) return fail("expected `,` or the end");
    if (!read_value()) return false;
  } while (container_ != kNoJson);
  skip_space();
  return at_ == input_.size() || fail("text after the value");
}

bool JsonDocument::read_value() {
  skip_space();
  const bool in_object = container_ != kNoJson && values_[container_].kind == JsonKind::kObject;
  if (in_object && !read_key()) return false;
  if (at_ == input_.size()) return fail("the text ends inside of a value");
  switch (input_[at_]) {
    case '[':
      return open(JsonKind::kArray);
    case '{':
      return open(JsonKind::kObject);
    case '"': {
      std::uint32_t begin, bytes;
      if (!read_string(&begin, &bytes) || !append(JsonKind::kString)) return false;
      Value& value = values_[values_.size() - 1];
      value.text = begin;
      value.text_bytes = bytes;
      return true;
    }
    default:
      return read_word();
  }
}

bool JsonDocument::read_key() {
  if (at_ == input_.size() || input_[at_] != '"') return fail("expected a key");
  if (!read_string(&key_, &key_bytes_)) return false;
  skip_space();
  if (!take(':')) return fail("expected `:`");
  skip_space();
  return true;
}

bool JsonDocument::read_word() {
  const auto begin = static_cast<std::uint32_t>(characters_.size());
  while (at_ < input_.size() && is_word(input_[at_])) {
    if (!characters_.push(input_[at_++])) return fail("out of memory");
  }
  const auto bytes = static_cast<std::uint32_t>(characters_.size()) - begin;
  if (bytes == 0) return fail("expected a value");
  if (!characters_.push('\0') || !append(JsonKind::kWord)) return fail("out of memory");
  Value& value = values_[values_.size() - 1];
  value.text = begin;
  value.text_bytes = bytes;
  return true;
}

bool JsonDocument::append(JsonKind kind) {
  Value value = {};
  value.kind = kind;
  value.first = value.last = value.next = kNoJson;
  value.parent = container_;
  value.key = key_;
  value.key_bytes = key_bytes_;
  const auto id = static_cast<JsonId>(values_.size());
  if (!values_.push(value)) return fail("out of memory");
  if (container_ == kNoJson) return true;
  Value& parent = values_[container_];
  if (parent.first == kNoJson) {
    parent.first = id;
  } else {
    values_[parent.last].next = id;
  }
  parent.last = id;
  parent.size += 1;
  return true;
}

bool JsonDocument::open(JsonKind kind) {
  ++at_;
  if (!append(kind)) return false;
  container_ = static_cast<JsonId>(values_.size() - 1);
  return true;
}

bool JsonDocument::close(JsonKind kind) {
  if (values_[container_].kind != kind) return fail("a bracket does not match");
  ++at_;
  container_ = values_[container_].parent;
  return true;
}

bool JsonDocument::read_string(std::uint32_t* begin, std::uint32_t* bytes) {
  *begin = static_cast<std::uint32_t>(characters_.size());
  ++at_;
  while (at_ < input_.size() && input_[at_] != '"') {
    if (input_[at_] == '\\') {
      if (!read_escape()) return false;
    } else if (!characters_.push(input_[at_++])) {
      return fail("out of memory");
    }
  }
  if (!take('"')) return fail("the text ends inside of a string");
  *bytes = static_cast<std::uint32_t>(characters_.size()) - *begin;
  return characters_.push('\0') || fail("out of memory");
}

bool JsonDocument::read_escape() {
  static constexpr char kNames[] = "\"\\/bfnrt", kValues[] = "\"\\/\b\f\n\r\t";
  if (++at_ == input_.size()) return fail("the text ends inside of a string");
  const char c = input_[at_++];
  if (c == 'u') {
    std::uint32_t code, low;
    if (!read_unicode(&code)) return false;
    if (code >= 0xd800 && code < 0xdc00) {  // the first of a pair
      if (!take('\\') || !take('u') || !read_unicode(&low) || low < 0xdc00 || low > 0xdfff) {
        return fail("half of a surrogate pair");
      }
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    return push_utf8(code);
  }
  const char* found = c == '\0' ? nullptr : std::strchr(kNames, c);
  if (found == nullptr) return fail("unknown escape");
  return characters_.push(kValues[found - kNames]) || fail("out of memory");
}

bool JsonDocument::read_unicode(std::uint32_t* code) {
  *code = 0;
  for (int i = 0; i < 4; ++i, ++at_) {
    const char c = at_ < input_.size() ? input_[at_] : '\0';
    const char lower = static_cast<char>(c | 0x20);
    if (c >= '0' && c <= '9') {
      *code = *code * 16 + (c - '0');
    } else if (lower >= 'a' && lower <= 'f') {
      *code = *code * 16 + (lower - 'a' + 10);
    } else {
      return fail("expected four hexadecimal digits");
    }
  }
  return true;
}

bool JsonDocument::push_utf8(std::uint32_t code) {
  const int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  static constexpr std::uint32_t kLead[] = {0, 0xc0, 0xe0, 0xf0};
  if (!characters_.push(static_cast<char>(kLead[more] | code >> (6 * more)))) return false;
  for (int i = more; i-- > 0;) {
    if (!characters_.push(static_cast<char>(0x80 | (code >> (6 * i) & 0x3f)))) return false;
  }
  return true;
}

bool JsonDocument::fail(const char* what) {
  error_.add("JSON, byte %zu: %s", at_, what);
  return false;
}

void JsonDocument::skip_space() {
  while (at_ < input_.size() && std::strchr(" \n\r\t", input_[at_]) != nullptr &&
         input_[at_] != '\0') {
    ++at_;
  }
}

bool JsonDocument::take(char c) {
  if (at_ == input_.size() || input_[at_] != c) return false;
  ++at_;
  return true;
}

std::string_view JsonDocument::text(JsonId id) const {
  const Value& value = values_[id];
  if (value.kind == JsonKind::kArray || value.kind == JsonKind::kObject) return "";
  return {characters_.data() + value.text, value.text_bytes};
}

std::string_view JsonDocument::key(JsonId member) const {
  return {characters_.data() + values_[member].key, values_[member].key_bytes};
}

JsonId JsonDocument::member(JsonId object, std::string_view name) const {
  if (kind(object) != JsonKind::kObject) return kNoJson;
  for (JsonId id = first_child(object); id != kNoJson; id = next_sibling(id)) {
    if (key(id) == name) return id;
  }
  return kNoJson;
}

bool JsonDocument::integer(JsonId id, std::int64_t* value) const {
  const std::string_view digits = text(id);
  if (digits.empty()) return false;
  char* end = nullptr;
  *value = std::strtoll(digits.data(), &end, 10);
  return end == digits.data() + digits.size();
}

}  // namespace tessera::runtime
