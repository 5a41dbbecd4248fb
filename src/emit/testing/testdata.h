// SPDX-License-Identifier: Apache-2.0
// Files of src/emit/testdata in tests.
#pragma once

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "diagnostics/diagnostic.h"
#include "support/files.h"
#include "tir/parse.h"

namespace tessera::emit {

inline std::string testdata_path(const std::string& name) {
  return TESSERA_SOURCE_DIR "/src/emit/testdata/" + name;
}

// "" for a golden that is not there yet.
inline std::string read_testdata(const std::string& name) {
  const auto text = read_file(testdata_path(name));
  return text ? *text : "";
}

inline tir::ParsedPrimFunc parse_testdata(const std::string& name) {
  const auto file = std::make_shared<SourceFile>(SourceFile{name, read_testdata(name)});
  auto parsed = tir::parse_prim_func(file, 0);
  EXPECT_TRUE(parsed) << (parsed ? "" : render(parsed.error()));
  parsed->func.sources.clear();
  return *std::move(parsed);
}

}  // namespace tessera::emit
