// SPDX-License-Identifier: Apache-2.0
// The goldens of a folder as tests; a folder with goldens has a golden_test.cc of five lines.
#pragma once

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "passes/testing/golden.h"

namespace tessera::passes::testing {

struct NamedGolden {
  std::string path, stem;
  GoldenCase golden;
};

inline void PrintTo(const NamedGolden& named, std::ostream* out) {
  *out << named.stem << ", " << named.golden.name;
}

inline std::vector<NamedGolden> goldens_of(const std::string& folder) {
  std::vector<NamedGolden> all;
  for (const std::string& path : golden_paths(folder)) {
    for (GoldenCase& golden : read_golden(path).cases) {
      all.push_back({path, std::filesystem::path(path).stem().string(), std::move(golden)});
    }
  }
  return all;
}

inline std::string golden_name(const ::testing::TestParamInfo<NamedGolden>& info) {
  std::string name = info.param.stem + "_" + info.param.golden.name;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

// Runs one case, or writes its CHECK lines anew.
inline void check_golden(const NamedGolden& named, std::span<const Pass* const> known,
                         std::span<const relay::PatternTable> tables = {}) {
  const auto& [path, stem, golden] = named;
  SCOPED_TRACE(path + " case " + golden.name + ": " + golden.args);
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const GoldenOutcome outcome = run_golden(golden, folder, known, tables);
  for (const std::string& finding : outcome.findings) ADD_FAILURE() << finding;
  if (std::getenv("TESSERA_UPDATE_GOLDENS") != nullptr) {
    update_golden(path, golden.name, outcome.lines);
    return;
  }
  const auto joined = [](const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    return text;
  };
  EXPECT_EQ(joined(outcome.lines), joined(golden.expected))
      << "TESSERA_UPDATE_GOLDENS=1 writes it anew";
}

}  // namespace tessera::passes::testing
