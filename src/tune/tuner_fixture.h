// SPDX-License-Identifier: Apache-2.0
// A tuner with a records file and an object cache of its own.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tune/tuner.h"

namespace tessera::tune {

inline const Gpu kGpu = {"Test GPU", 9, 0, 132};

class TunerFixture : public ::testing::Test {
 protected:
  TunerFixture()
      : folder_(*TempDir::make("tessera-tuner")),
        toolchain_(*link::Toolchain::find(
            {.root = TESSERA_BUILD_DIR, .cache_folder = folder_.file("cache"), .jobs = 2})) {}

  RecordStore open() const { return *RecordStore::open(folder_.file("records")); }
  TuneRow tune(const byoc::TuningTask& t, TunerOptions options = {}, const Gpu& gpu = kGpu) {
    RecordStore store = open();
    options.toolchain = "nvcc";
    auto rows = Tuner(toolchain_, store, gpu, std::move(options)).run({&t, 1});
    if (!rows) throw std::runtime_error(render(rows.error()));
    return rows->front();
  }
  std::vector<Record> records() const { return open().all()->list; }
  TempDir folder_;
  link::Toolchain toolchain_;
};

}  // namespace tessera::tune
