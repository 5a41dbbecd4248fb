// SPDX-License-Identifier: Apache-2.0
// Sources to objects, and objects to archives, and what is kept of both and of libraries' work:
// abstract, so that who emits code need not know link/, which implements it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diagnostics/diagnostic.h"
#include "support/hash.h"
#include "toolchain/compile_job.h"

namespace tessera {

// Compiles to relocatable objects, through the object cache.
class Toolchain {
 public:
  virtual ~Toolchain() = default;
  // The objects' bytes, in the order of the jobs; runs as many compilers at once as it was told.
  virtual Result<std::vector<std::string>> compile(std::span<const CompileJob> jobs) = 0;
  // Each for itself: its object, or why there is none.
  virtual std::vector<Result<std::string>> compile_each(std::span<const CompileJob> jobs);
  // Is a failure of these the machine's (no room on the disk, no memory, a compiler that was
  // killed)? Then it is no reason to decline a function: the next compilation may well do it.
  virtual bool blames_the_machine(const Diagnostic& /*why*/) const { return false; }
  // A static library of objects that are given as bytes.
  virtual Result<std::string> archive(std::span<const std::string> objects) = 0;
  // The bytes of a shared library of objects, for this process or a child to load; what they call
  // of the runtime is in it.
  virtual Result<std::string> shared_library(std::span<const std::string> objects);
  // What the library of a vendor made on this machine, kept as objects are, under the hash of all
  // else that it was made from. Nothing is kept where there is no cache.
  virtual std::optional<std::string> find_made(const Hash128& /*key*/) const { return {}; }
  virtual void keep_made(const Hash128& /*key*/, std::string_view /*made*/) const {}
  virtual std::string identity() const = 0;  // compiler and version, for keys and reports
};

}  // namespace tessera
