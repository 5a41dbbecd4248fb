// SPDX-License-Identifier: Apache-2.0
#include "runtime/size_text.h"

#include <algorithm>

namespace tessera::runtime {
namespace {

constexpr int kMaxDepth = 600;  // the compiler writes less

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  return a / b - (a % b != 0 && (a % b < 0) != (b < 0) ? 1 : 0);
}

//   sum = [-] product {(+|-) product};  product = atom {* atom}
//   atom = number | name | name(sum, sum) | (sum)
class Reader {
 public:
  Reader(const SizeTable& table, std::string_view text) : table_(table), text_(text) {}

  bool read(std::int64_t* value) {
    *value = sum();
    skip_spaces();
    return ok_ && at_ == text_.size();
  }

 private:
  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(char c) {
    skip_spaces();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::int64_t failed() {
    ok_ = false;
    return 0;
  }

  std::int64_t sum() {
    if (++depth_ > kMaxDepth) return failed();
    std::int64_t total = 0;
    bool minus = take('-');
    do {
      const std::int64_t part = product();
      const bool overflows = minus ? __builtin_sub_overflow(total, part, &total)
                                   : __builtin_add_overflow(total, part, &total);
      if (overflows) return failed();
      minus = take('-');
    } while (ok_ && (minus || take('+')));
    --depth_;
    return total;
  }

  std::int64_t product() {
    std::int64_t result = atom();
    while (ok_ && take('*')) {
      if (__builtin_mul_overflow(result, atom(), &result)) return failed();
    }
    return result;
  }

  std::int64_t atom() {
    skip_spaces();
    if (at_ >= text_.size()) return failed();
    if (take('(')) {
      const std::int64_t inner = sum();
      return take(')') ? inner : failed();
    }
    if (is_digit(text_[at_])) {
      std::int64_t number = 0;
      while (at_ < text_.size() && is_digit(text_[at_])) {
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, text_[at_++] - '0', &number)) {
          return failed();
        }
      }
      return number;
    }
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
    if (at_ == begin) return failed();
    const std::string_view name = text_.substr(begin, at_ - begin);
    if (take('(')) return function(name);
    const SizeTable::Entry* entry = table_.find(name);
    return entry != nullptr ? entry->value : failed();
  }

  std::int64_t function(std::string_view name) {
    const std::int64_t a = sum();
    if (!take(',')) return failed();
    const std::int64_t b = sum();
    if (!take(')')) return failed();
    if (name == "min") return std::min(a, b);
    if (name == "max") return std::max(a, b);
    if (b == 0) return failed();
    if (name == "floordiv") return floor_quotient(a, b);
    if (name == "floormod") return a - b * floor_quotient(a, b);
    return failed();
  }

  const SizeTable& table_;
  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool ok_ = true;
};

}  // namespace

bool SizeTable::set(std::string_view text, std::int64_t value) {
  for (Entry& entry : entries_) {
    if (entry.text != text) continue;
    entry.value = value;
    return true;
  }
  return entries_.push({text, value});
}

const SizeTable::Entry* SizeTable::find(std::string_view text) const {
  for (const Entry& entry : entries_) {
    if (entry.text == text) return &entry;
  }
  return nullptr;
}

bool SizeTable::evaluate(std::string_view text, std::int64_t* value) const {
  if (const Entry* whole = find(text)) {
    *value = whole->value;
    return true;
  }
  return Reader(*this, text).read(value);
}

}  // namespace tessera::runtime
