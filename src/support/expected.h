// SPDX-License-Identifier: Apache-2.0
// A value or the error that kept it from being made; the API of std::expected that we use. Asking
// for the one that is not there throws std::bad_variant_access: a bug, as a failed check is.
#pragma once

#include <type_traits>
#include <utility>
#include <variant>

namespace tessera {

template <class E>
struct Unexpected {
  E error;
};
template <class E>
Unexpected(E) -> Unexpected<E>;  // clang 14 does not deduce it from the aggregate

template <class T, class E>
class [[nodiscard]] Expected {
 public:
  using value_type = T;
  using error_type = E;

  Expected(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: as std::expected
  Expected(Unexpected<E> e)                                  // NOLINT
      : state_(std::in_place_index<1>, std::move(e.error)) {}
  template <class U>
  requires(std::is_convertible_v<U, T> && !std::is_same_v<std::remove_cvref_t<U>, Expected> &&
           !std::is_same_v<std::remove_cvref_t<U>, T>) Expected(U&& value)
      : state_(std::in_place_index<0>, std::forward<U>(value)) {}  // NOLINT

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::move(std::get<0>(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  E& error() & { return std::get<1>(state_); }
  const E& error() const& { return std::get<1>(state_); }
  E&& error() && { return std::move(std::get<1>(state_)); }

 private:
  std::variant<T, E> state_;
};

template <class E>
class [[nodiscard]] Expected<void, E> {
 public:
  using value_type = void;
  using error_type = E;

  Expected() = default;
  Expected(Unexpected<E> e) : failed_(true), error_(std::move(e.error)) {}  // NOLINT
  bool has_value() const { return !failed_; }
  explicit operator bool() const { return !failed_; }
  void value() const {}
  E& error() & { return error_; }
  const E& error() const& { return error_; }
  E&& error() && { return std::move(error_); }

 private:
  bool failed_ = false;
  E error_{};
};

}  // namespace tessera

// Unwraps an Expected in a function that returns one: `TESSERA_TRY(auto m, parse(text));`
#define TESSERA_TRY_CONCAT_(a, b) a##b
#define TESSERA_TRY_NAME_(line) TESSERA_TRY_CONCAT_(tessera_try_, line)
#define TESSERA_TRY(decl, expr)                                                   \
  auto TESSERA_TRY_NAME_(__LINE__) = (expr);                                      \
  if (!TESSERA_TRY_NAME_(__LINE__))                                               \
    return ::tessera::Unexpected{std::move(TESSERA_TRY_NAME_(__LINE__)).error()}; \
  decl = std::move(TESSERA_TRY_NAME_(__LINE__)).value()

// The same for an Expected<void>.
#define TESSERA_TRY_VOID(expr)                                                          \
  if (auto tessera_try_void = (expr); !tessera_try_void) return ::tessera::Unexpected { \
      std::move(tessera_try_void).error()                                               \
    }
