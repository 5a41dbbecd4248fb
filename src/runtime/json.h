// SPDX-License-Identifier: Apache-2.0
// A small reader of JSON without exceptions, for what our own compiler wrote: strings, arrays and
// objects, and numbers, true, false and null as their text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "runtime/array.h"
#include "runtime/error.h"

namespace tessera::runtime {

enum class JsonKind : std::uint8_t { kWord, kString, kArray, kObject };

// An index into the document's values.
using JsonId = std::uint32_t;
inline constexpr JsonId kNoJson = UINT32_MAX;

class JsonDocument {
 public:
  // False: `error()` says where and why. To be called once; strings are copied, `text` need not
  // stay.
  [[nodiscard]] bool parse(std::string_view text);
  const char* error() const { return error_.text(); }

  JsonId root() const { return 0; }
  JsonKind kind(JsonId id) const { return values_[id].kind; }
  // The text of a string or a word; ends in a zero byte.
  std::string_view text(JsonId id) const;
  // Number of elements of an array, or members of an object.
  std::uint32_t size(JsonId id) const { return values_[id].size; }
  // Elements and member values in order: first_child, then next_sibling; kNoJson at the end.
  JsonId first_child(JsonId id) const { return values_[id].first; }
  JsonId next_sibling(JsonId id) const { return values_[id].next; }
  std::string_view key(JsonId member) const;
  // The member's value, or kNoJson.
  JsonId member(JsonId object, std::string_view key) const;
  // The integer of a word or a string of digits; false if it is none.
  bool integer(JsonId id, std::int64_t* value) const;

 private:
  struct Value {
    JsonKind kind;
    std::uint32_t size;
    JsonId first, last, next, parent;
    std::uint32_t text, text_bytes;  // into characters_
    std::uint32_t key, key_bytes;
  };

  bool fail(const char* what);
  bool append(JsonKind kind);
  bool open(JsonKind kind);
  bool close(JsonKind kind);
  bool read_value();
  bool read_key();
  bool read_word();
  bool read_string(std::uint32_t* begin, std::uint32_t* bytes);
  bool read_escape();
  bool read_unicode(std::uint32_t* code);
  bool push_utf8(std::uint32_t code);
  void skip_space();
  bool take(char c);

  Array<Value> values_;
  Array<char> characters_;
  TextBuffer error_;

  // While parsing.
  std::string_view input_;
  std::size_t at_ = 0;
  JsonId container_ = kNoJson;
  std::uint32_t key_ = 0, key_bytes_ = 0;
};

}  // namespace tessera::runtime
