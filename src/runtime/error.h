// SPDX-License-Identifier: Apache-2.0
// The sentence behind tessera_last_error().
#pragma once

#include <cstdint>

#include "tessera/tensor.h"

namespace tessera::runtime {

// Longest sentence that is kept; longer ones are cut.
inline constexpr int kErrorBytes = 1024;

// Sets the calling thread's sentence and returns `status`.
[[gnu::format(printf, 2, 3)]] std::int32_t fail(std::int32_t status, const char* format, ...);

// For sentences: "the CPU", "CUDA device 1", "device 7:0" of a kind that there is not.
struct DeviceName {
  char text[40];
};
DeviceName name_of(tessera_device device);

std::int32_t fail_out_of_memory(const char* what);

// Text into a fixed buffer, piece by piece, cut at its end.
class TextBuffer {
 public:
  [[gnu::format(printf, 2, 3)]] void add(const char* format, ...);
  const char* text() const { return text_; }

 private:
  char text_[kErrorBytes] = "";
  int length_ = 0;
};

}  // namespace tessera::runtime
