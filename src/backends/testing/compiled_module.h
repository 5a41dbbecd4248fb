// SPDX-License-Identifier: Apache-2.0
// For tests: the C functions behind a module's externs, from a library built of their artifacts and
// of the archives that these name.
#pragma once

#include <map>
#include <string>

#include "byoc/compile_context.h"
#include "module/module.h"
#include "runtime/program.h"

namespace tessera::backends::testing {

// The compiler of this machine, with the headers and archives of the build tree.
Toolchain& test_toolchain();

class CompiledModule {
 public:
  // Throws where an artifact does not compile or link.
  explicit CompiledModule(const Module& module);
  ~CompiledModule();
  CompiledModule(const CompiledModule&) = delete;
  CompiledModule& operator=(const CompiledModule&) = delete;

  // Null for "".
  template <class F>
  F function(const std::string& name) const {
    return reinterpret_cast<F>(address(name));
  }

 private:
  void* address(const std::string& name) const;
  void build(const Module& module);

  std::map<std::string, void*> functions_;
  void* library_ = nullptr;
};

}  // namespace tessera::backends::testing
