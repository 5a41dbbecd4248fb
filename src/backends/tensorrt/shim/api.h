// SPDX-License-Identifier: Apache-2.0
// TensorRT's entry points, and its messages. Compiled against the headers of the user's TensorRT
// when a model is; only what 8.6 to 11 have in common is called.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

#include <NvInfer.h>
#include <NvInferVersion.h>

#include "runtime/error.h"

namespace tessera::backends::tensorrt {

using runtime::TextBuffer;

// Keeps the latest error; other messages go nowhere, and so do those that several threads have at
// once, but one.
class Logger final : public nvinfer1::ILogger {
 public:
  void log(Severity severity, const char* text) noexcept override {
    if (severity > Severity::kERROR || is_busy_.test_and_set()) return;
    last_ = TextBuffer();
    last_.add("%s", text);
    is_busy_.clear();
  }
  const char* last() const { return last_.text()[0] != '\0' ? last_.text() : "it says no reason"; }

 private:
  TextBuffer last_;
  std::atomic_flag is_busy_;
};

// The address of a function, or null (having said so).
using Lookup = void* (*)(void* context, const char* symbol);

struct Api {
  void* (*create_builder)(void* logger, std::int32_t version) = nullptr;
  void* (*create_runtime)(void* logger, std::int32_t version) = nullptr;
  std::int32_t (*version)() = nullptr;

  // False: a function is missing, which `lookup` has reported.
  [[nodiscard]] bool load(Lookup lookup, void* context) {
    const auto find = [&](auto* function, const char* symbol) {
      *function =
          reinterpret_cast<std::remove_pointer_t<decltype(function)>>(lookup(context, symbol));
      return *function != nullptr;
    };
    return find(&create_builder, "createInferBuilder_INTERNAL") &&
           find(&create_runtime, "createInferRuntime_INTERNAL") &&
           find(&version, "getInferLibVersion");
  }
};

constexpr auto kVersion = static_cast<std::int32_t>(NV_TENSORRT_VERSION);

// Destroys an object of TensorRT's at the end of its scope.
template <class T>
class Owned {
 public:
  explicit Owned(void* object) : object_(static_cast<T*>(object)) {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { delete object_; }
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }

 private:
  T* object_;
};

// The names of a region's tensors in the engine: "input_0", "output_2".
struct TensorName {
  TensorName(const char* role, std::int32_t number) {
    __builtin_snprintf(text, sizeof text, "%s_%d", role, static_cast<int>(number));
  }
  char text[32];
};

}  // namespace tessera::backends::tensorrt
