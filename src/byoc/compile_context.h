// SPDX-License-Identifier: Apache-2.0
// The services that a back end may use while it compiles. Abstract here; link/ and tune/ implement
// them and the driver hands them in, so that back ends depend on neither.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "byoc/workload.h"
#include "diagnostics/diagnostic.h"
#include "support/source.h"

namespace tessera::byoc {

struct CompileJob {
  std::string name;                // file stem, for messages and kept sources: "kernels_0"
  Source source;                   // C++ (or CUDA) text
  std::string extension = "cc";    // "cc" or "cu"
  std::vector<std::string> flags;  // beyond the toolchain's own; part of the cache key
  // Where to look for headers beyond tessera's own. What is found there is told by `headers`, whose
  // content is part of the cache key; the folders' names are not.
  std::vector<std::string> include_folders = {};
  std::vector<std::string> headers = {};  // relative to the include folders
  std::string kept_in = {};  // the folder where the source stays as NAME.EXTENSION; "": it does not
  int at_once = 0;           // compilers, at most, while it is among the jobs; 0: as usual
  // CUDA: compiled twice at the same time, which takes as long as the longer one. With
  // TESSERA_DEVICE_PASS for the device alone, to an image that the object has as NAME_image; with
  // TESSERA_HOST_PASS, and empty for the device, to functions that load the image.
  bool compiles_apart = false;
};

// Compiles to relocatable objects, through the object cache.
class Toolchain {
 public:
  virtual ~Toolchain() = default;
  // The objects' bytes, in the order of the jobs; runs up to `CompileContext::jobs` at once.
  virtual Result<std::vector<std::string>> compile(std::span<const CompileJob> jobs) = 0;
  // Each for itself: its object, or why there is none.
  virtual std::vector<Result<std::string>> compile_each(std::span<const CompileJob> jobs);
  // Is a failure of these the machine's (no room on the disk, no memory, a compiler that was
  // killed)? Then it is no reason to decline a function: the next compilation may well do it.
  virtual bool blames_the_machine(const Diagnostic& /*why*/) const { return false; }
  // A static library of objects that are given as bytes.
  virtual Result<std::string> archive(std::span<const std::string> objects) = 0;
  virtual std::string identity() const = 0;  // compiler and version, for keys and reports
};

// What was measured before, on this machine or another; tune/ keeps it.
class Measurements {
 public:
  virtual ~Measurements() = default;
  // The ranking of devices whose description begins with `device`. If a size is open and nothing
  // was measured at that of the workload, it is that of the nearest size up to twice as large or
  // half as large: of several sizes, the factors' product counts.
  virtual Result<Ranking> ranking(std::string_view backend, std::string_view version,
                                  std::string_view device, const Workload& workload) const = 0;
};

struct CompileContext {
  Toolchain& toolchain;
  int jobs = 1;
  bool strict = false;
  std::vector<Diagnostic> warnings;
  const Measurements* measurements = nullptr;  // null: there are none
};

}  // namespace tessera::byoc
