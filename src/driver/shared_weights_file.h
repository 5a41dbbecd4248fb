// SPDX-License-Identifier: Apache-2.0
// The weights of libraries that one compilation makes to time them, each once: most plans of a
// model read the same ones.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "emit/host.h"
#include "support/files.h"

namespace tessera::driver {

class SharedWeightsFile {
 public:
  static Result<std::unique_ptr<SharedWeightsFile>> make();

  // Writes those pieces that are not there yet, and has the layout say where they are, with none of
  // its own.
  Result<void> hold(emit::WeightsLayout& layout);
  std::string path() const { return folder_.file("weights"); }
  std::uint64_t bytes() const { return bytes_; }

 private:
  explicit SharedWeightsFile(TempDir folder) : folder_(std::move(folder)) {}
  Result<std::uint64_t> offset_of(const Blob& blob);

  TempDir folder_;
  std::map<std::string, std::uint64_t> offset_by_hash_;
  std::uint64_t bytes_ = 0;
};

}  // namespace tessera::driver
