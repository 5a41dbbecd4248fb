// SPDX-License-Identifier: Apache-2.0
// What AddressSanitizer is told in programs that are linked with it for the libraries they load.

// Leaks are those of vendor libraries, which stay loaded; no memory is what runs are tested with.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() {
  return "detect_leaks=0:allocator_may_return_null=1:detect_odr_violation=0";
}
extern "C" const char* __ubsan_default_options();
extern "C" const char* __ubsan_default_options() { return "print_stacktrace=1"; }
