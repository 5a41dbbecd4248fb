// SPDX-License-Identifier: Apache-2.0
// Vendor libraries: opened by dlopen when a model is created, and never linked against.
#pragma once

#include <cstdint>

#include "runtime/array.h"
#include "runtime/program.h"

namespace tessera::runtime {

class VendorLibraries {
 public:
  VendorLibraries() = default;
  VendorLibraries(const VendorLibraries&) = delete;
  VendorLibraries& operator=(const VendorLibraries&) = delete;
  ~VendorLibraries();

  // Opens what the program's back ends declare. Each is searched in `where.first`, in the
  // directories of $TESSERA_LIBRARY_PATH, where the system looks, then in `where.last`; never in
  // the working directory, unless one of them names it. A status; the sentence names the file and
  // who needs it.
  std::int32_t open(const tessera_program& program, const tessera_vendor_search& where);

  // The handle of a declared library, or null.
  void* find(const char* file) const;

 private:
  struct Opened {
    const char* file;
    void* handle;
  };
  Array<Opened> opened_;
};

// The directory that holds the file which `address` was loaded from; empty if there is none.
struct DirectoryOf {
  explicit DirectoryOf(const void* address);
  char path[4096];
};

}  // namespace tessera::runtime
