// SPDX-License-Identifier: Apache-2.0
// Intrusive, atomically counted handle to an immutable (or privately built) object.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace tessera {

// Base of everything a Ref may hold. The count is atomic: tuning threads share trees.
class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) noexcept {}
  RefCounted& operator=(const RefCounted&) noexcept { return *this; }

 protected:
  ~RefCounted() = default;

 private:
  template <class T>
  friend class Ref;
  mutable std::atomic<std::uint32_t> count_{0};
};

// A null Ref converts to false. T needs a complete type where a Ref<T> is destroyed; a polymorphic
// T needs a virtual destructor, or a static `void destroy(const T*)` found by overload (see
// tir/expr.h).
template <class T>
class Ref {
 public:
  constexpr Ref() = default;
  constexpr Ref(std::nullptr_t) {}  // NOLINT: null is a value of every handle
  explicit Ref(T* p) : p_(p) { retain(); }
  Ref(const Ref& o) : p_(o.p_) { retain(); }
  Ref(Ref&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  ~Ref() { release(); }
  Ref& operator=(Ref o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }

  T* get() const { return p_; }
  T& operator*() const { return *p_; }
  T* operator->() const { return p_; }
  explicit operator bool() const { return p_ != nullptr; }
  friend bool operator==(const Ref& a, const Ref& b) { return a.p_ == b.p_; }

 private:
  void retain() const {
    if (p_ != nullptr) p_->count_.fetch_add(1, std::memory_order_relaxed);
  }
  void release() {
    if (p_ == nullptr || p_->count_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    if constexpr (requires(const T* q) { T::destroy(q); }) {
      T::destroy(p_);
    } else {
      delete p_;
    }
  }
  T* p_ = nullptr;
};

template <class T, class... A>
Ref<const T> make_ref(A&&... a) {
  return Ref<const T>(new T{std::forward<A>(a)...});
}

}  // namespace tessera
