// SPDX-License-Identifier: Apache-2.0
// A growable array of plain data that reports lack of memory instead of throwing: the runtime has
// no exceptions, and must not end a process that merely asked for too large a model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>

namespace tessera::runtime {

template <class T>
class Array {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  Array() = default;
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() { std::free(data_); }

  // Makes it `size` elements of zero bytes; false if there is no memory. To be called once.
  [[nodiscard]] bool allocate(std::size_t size) {
    if (size == 0) return true;
    data_ = static_cast<T*>(std::calloc(size, sizeof(T)));
    if (data_ == nullptr) return false;
    size_ = capacity_ = size;
    return true;
  }

  [[nodiscard]] bool push(const T& value) {
    if (size_ == capacity_) {
      const T kept = value;  // it may be an element of this array
      const std::size_t capacity = capacity_ == 0 ? 8 : 2 * capacity_;
      void* grown = std::realloc(data_, capacity * sizeof(T));  // NOLINT: T may be a pointer
      if (grown == nullptr) return false;
      data_ = static_cast<T*>(grown);
      capacity_ = capacity;
      data_[size_++] = kept;
      return true;
    }
    data_[size_++] = value;
    return true;
  }

  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

// Destroys and frees what create() made.
template <class T>
void destroy(T* object) {
  if (object == nullptr) return;
  object->~T();
  std::free(object);
}

// A zeroed, constructed T, or null. (operator new would bring the exception machinery with it.)
template <class T, class... Args>
T* create(Args&&... args) {
  void* memory = std::calloc(1, sizeof(T));
  return memory == nullptr ? nullptr : ::new (memory) T(std::forward<Args>(args)...);
}

}  // namespace tessera::runtime
