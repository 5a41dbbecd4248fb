// SPDX-License-Identifier: Apache-2.0
#include "runtime/error.h"

#include <cstdarg>
#include <cstdio>

#include "tessera/call.h"
#include "tessera/model.h"

namespace tessera::runtime {
namespace {

// A plain array: no constructor runs when a thread first touches it.
thread_local char last_error[kErrorBytes];

}  // namespace

std::int32_t fail(std::int32_t status, const char* format, ...) {
  char text[kErrorBytes];  // an argument may be the previous sentence
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  std::snprintf(last_error, sizeof last_error, "%s", text);
  return status;
}

DeviceName name_of(tessera_device device) {
  DeviceName name = {"the CPU"};
  if (device.device_type == TESSERA_CUDA) {
    std::snprintf(name.text, sizeof name.text, "CUDA device %d", device.device_id);
  } else if (device.device_type != TESSERA_CPU) {
    std::snprintf(name.text, sizeof name.text, "device %d:%d", device.device_type,
                  device.device_id);
  }
  return name;
}

std::int32_t fail_out_of_memory(const char* what) {
  return fail(TESSERA_OUT_OF_MEMORY, "out of memory for %s", what);
}

void TextBuffer::add(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int added = std::vsnprintf(text_ + length_, sizeof text_ - length_, format, arguments);
  va_end(arguments);
  length_ += added < 0 ? 0 : added;
  if (length_ >= kErrorBytes) length_ = kErrorBytes - 1;
}

}  // namespace tessera::runtime

std::int32_t tessera_call_failed(const tessera_call* call, const char* format, ...) {
  char text[tessera::runtime::kErrorBytes];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  call->set_error(call, text);
  return 1;
}

const char* tessera_last_error(void) { return tessera::runtime::last_error; }
