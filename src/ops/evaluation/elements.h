// SPDX-License-Identifier: Apache-2.0
// Elements under evaluation. What a model says decides where they are read and written, how many
// there are and what they are divided by: each access and each allocation is checked here, and one
// that cannot be made ends the evaluation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "diagnostics/diagnostic.h"
#include "types/type.h"

namespace tessera::ops {

using Ints = std::vector<std::int64_t>;  // sizes, places, axes

// Thrown by an evaluation that cannot go on; `evaluate_call` makes a diagnostic of it. As in a
// converter of the importer, every line of every evaluation would otherwise be a TRY.
class EvaluationFailure : public std::exception {
 public:
  EvaluationFailure(Code code, std::string text) : code_(code), text_(std::move(text)) {}
  const char* what() const noexcept override { return text_.c_str(); }
  Code code() const { return code_; }

 private:
  Code code_;
  std::string text_;
};

[[noreturn]] void fail_outside(std::int64_t index, std::int64_t count);
// For estimates of work: the elements of a tensor of this type, an unknown size counted as 1.
double element_count(const Type& type);
// A number of elements to make room for.
std::size_t checked_count(std::int64_t count);
// A place along a dimension that comes from data; negative ones count from the end.
std::int64_t checked_index(std::int64_t index, std::int64_t size);

// A vector whose accesses are checked.
template <class T>
class Elements {
 public:
  Elements() = default;
  explicit Elements(std::int64_t count, T value = T()) : values_(checked_count(count), value) {}
  explicit Elements(std::vector<T> values) : values_(std::move(values)) {}

  template <class I>
  T& operator[](I i) {
    return values_[place(i)];
  }
  template <class I>
  const T& operator[](I i) const {
    return values_[place(i)];
  }
  // `count` elements from `begin` on: for loops along a row.
  std::span<const T> part(std::int64_t begin, std::int64_t count) const {
    if (begin < 0 || count < 0 || count > ssize() || begin > ssize() - count) {
      fail_outside(begin, ssize());
    }
    return std::span(values_).subspan(static_cast<std::size_t>(begin),
                                      static_cast<std::size_t>(count));
  }
  void push_back(T value) { values_.push_back(value); }
  void reserve(std::int64_t count) { values_.reserve(checked_count(count)); }

  std::size_t size() const { return values_.size(); }
  bool empty() const { return values_.empty(); }
  auto begin() { return values_.begin(); }
  auto end() { return values_.end(); }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }
  bool operator==(const std::vector<T>& other) const { return values_ == other; }
  operator std::span<const T>() const { return values_; }  // NOLINT: elements are a span of them

 private:
  std::int64_t ssize() const { return static_cast<std::int64_t>(values_.size()); }
  template <class I>
  std::size_t place(I i) const {
    const auto at = static_cast<std::size_t>(i);  // a negative one is larger than any size
    if (at >= values_.size()) [[unlikely]]
      fail_outside(static_cast<std::int64_t>(i), ssize());
    return at;
  }

  std::vector<T> values_;
};

}  // namespace tessera::ops
