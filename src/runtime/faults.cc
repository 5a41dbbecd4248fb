// SPDX-License-Identifier: Apache-2.0
// Indices that kernels find to lie outside: at once on the CPU, later on a device.
#include <cstdarg>
#include <cstdio>

#include "runtime/device_run.h"
#include "tessera/fault.h"

namespace tessera::runtime {
namespace {

// After the flag, in memory that host and device share.
tessera_fault* fault_of(const tessera_instance& instance) {
  return reinterpret_cast<tessera_fault*>(static_cast<std::byte*>(instance.work.flag.data) +
                                          kFlagBytes);
}

}  // namespace

void clear_fault(tessera_instance& instance) { *fault_of(instance) = {}; }

std::int32_t read_fault(tessera_instance& instance, char (&text)[kErrorBytes]) {
  tessera_fault* const fault = fault_of(instance);
  // The device writes the sentence last.
  const char* const sentence = __atomic_load_n(&fault->sentence, __ATOMIC_ACQUIRE);
  if (sentence == nullptr) return TESSERA_OK;
  const long long* v = fault->values;
  std::snprintf(text, sizeof text, sentence, v[0], v[1], v[2], v[3]);
  fault->sentence = nullptr;
  __atomic_store_n(&fault->taken, 0, __ATOMIC_RELEASE);
  return TESSERA_INDEX_OUTSIDE;
}

std::int32_t take_fault(tessera_instance& instance) {
  char text[kErrorBytes];
  const std::int32_t status = read_fault(instance, text);
  return status == TESSERA_OK ? status : fail(status, "the run failed: %s", text);
}

}  // namespace tessera::runtime

std::int32_t tessera_index_outside(const tessera_call* call, const char* format, ...) {
  using namespace tessera::runtime;
  char text[kErrorBytes];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  set_run_error(*static_cast<tessera_instance*>(call->runtime), TESSERA_INDEX_OUTSIDE, text);
  return 1;
}

tessera_fault* tessera_fault_of(const tessera_call* call) {
  return tessera::runtime::fault_of(*static_cast<tessera_instance*>(call->runtime));
}
