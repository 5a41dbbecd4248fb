// SPDX-License-Identifier: Apache-2.0
// Functions of libraries that produced libraries do not depend on.
#pragma once

#include <dlfcn.h>

namespace tessera::runtime {

// False, and a null pointer, if the library has no function of that name.
template <class F>
bool find_function(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace tessera::runtime
