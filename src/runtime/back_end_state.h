// SPDX-License-Identifier: Apache-2.0
// What the functions of back ends that create state and run it have in common.
#pragma once

#include "runtime/array.h"
#include "runtime/error.h"
#include "tessera/call.h"

namespace tessera::runtime {

// A vendor library on its way into a back end's table of functions: `vendor_function` finds one of
// them, `opened` being an OpenedLibrary, or sets the error.
struct OpenedLibrary {
  const tessera_state_args* args;
  void* library;  // as tessera_vendor_library gives it
};
inline void* vendor_function(void* opened, const char* symbol) {
  const auto* of = static_cast<const OpenedLibrary*>(opened);
  return tessera_vendor_symbol(of->args, of->library, symbol);
}

// Sets the error unless a callee has; for use as `return failed(...)`.
inline std::int32_t failed(const tessera_state_args* args, const TextBuffer& error) {
  if (error.text()[0] != '\0') args->set_error(args, error.text());
  return 1;
}
inline std::int32_t out_of_memory(const tessera_state_args* args) {
  args->set_error(args, "out of memory");
  return 1;
}

// A call of a symbol whose state is a Site.
template <class Site>
std::int32_t run_call_site(const tessera_call* call, tessera_tensor** tensors, std::int32_t count) {
  TextBuffer error;
  auto* site = static_cast<Site*>(call->states->call_site);
  if (site->run(*call, tensors, count, &error)) return 0;
  call->set_error(call, error.text());
  return 1;
}

}  // namespace tessera::runtime
