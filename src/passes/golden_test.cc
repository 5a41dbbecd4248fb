// SPDX-License-Identifier: Apache-2.0
// The goldens of testdata/: passes/testing/golden.h says what they are.
#include "passes/testing/golden.h"

#include <cstdlib>
#include <filesystem>
#include <ostream>

#include <gtest/gtest.h>

namespace tessera::passes::testing {
namespace {

const std::string kFolder = std::string(TESSERA_SOURCE_DIR) + "/src/passes/testdata";

struct Named {
  std::string path, stem;
  GoldenCase golden;
};

void PrintTo(const Named& named, std::ostream* out) {
  *out << named.stem << ", " << named.golden.name;
}

std::vector<Named> all_cases() {
  std::vector<Named> all;
  for (const std::string& path : golden_paths(kFolder)) {
    for (GoldenCase& golden : read_golden(path).cases) {
      all.push_back({path, std::filesystem::path(path).stem().string(), std::move(golden)});
    }
  }
  return all;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

class Golden : public ::testing::TestWithParam<Named> {};

TEST_P(Golden, Holds) {
  const auto& [path, stem, golden] = GetParam();
  SCOPED_TRACE(path + " case " + golden.name + ": " + golden.args);
  const GoldenOutcome outcome = run_golden(golden, kFolder, all_passes());
  for (const std::string& finding : outcome.findings) ADD_FAILURE() << finding;
  if (std::getenv("TESSERA_UPDATE_GOLDENS") != nullptr) {
    update_golden(path, golden.name, outcome.lines);
    return;
  }
  EXPECT_EQ(joined(outcome.lines), joined(golden.expected))
      << "TESSERA_UPDATE_GOLDENS=1 writes it anew";
}

std::string test_name(const ::testing::TestParamInfo<Named>& info) {
  std::string name = info.param.stem + "_" + info.param.golden.name;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Passes, Golden, ::testing::ValuesIn(all_cases()), test_name);

}  // namespace
}  // namespace tessera::passes::testing
