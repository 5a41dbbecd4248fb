// SPDX-License-Identifier: Apache-2.0
// Hostile names in every field that holds text, for every back end: see compare.h for what must
// stay. Without nvcc and without a GPU, as nothing is compiled.
//   TESSERA_FUZZ_SECONDS   time for each kind of model (1 without it)
//   TESSERA_FUZZ_SEED      the run to repeat; without it the day's number
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/visible_text.h"
#include "tests/text_fuzz/compare.h"

namespace tessera::text_fuzz {
namespace {

using Clock = std::chrono::steady_clock;
using Targets = std::vector<std::string>;

double number_of(const char* variable, double otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::atof(text) : otherwise;
}

const std::vector<Targets> kTargets = {
    {"cpu"},  {"cpu", "blas"},     {"cpu", "onednn"}, {"cpu", "ccompiler", "example_target_hook"},
    {"cuda"}, {"cuda", "cutlass"},
};

std::string described(const Names& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    out += fmt::format("  {:2} {}\n", i, visible(names[i]).substr(0, 100));
  }
  return out;
}

class TextFuzz : public ::testing::TestWithParam<ModelKind> {
 protected:
  // What is emitted with plain names, which each must compile with.
  const Emitted& plain(std::size_t targets) {
    const auto found = plain_.find(targets);
    if (found != plain_.end()) return found->second;
    auto emitted = emit_all(GetParam().make(plain_names()), kTargets[targets]);
    EXPECT_TRUE(emitted) << render(emitted.error());
    return plain_[targets] = emitted ? *std::move(emitted) : Emitted();
  }

  // True if it was compiled: what import refuses, it refuses in words that harm nobody.
  bool feed(const Names& names, std::size_t targets) {
    const auto emitted = emit_all(GetParam().make(names), kTargets[targets]);
    if (!emitted) {
      const std::string text = render(emitted.error());
      EXPECT_EQ(visible_lines(text), text);
      return false;
    }
    EXPECT_EQ(difference(plain(targets), *emitted, plain_names(), names), "");
    return true;
  }

 private:
  std::map<std::size_t, Emitted> plain_;
};

TEST_P(TextFuzz, NamesChangeNamesAlone) {
  const double seconds = number_of("TESSERA_FUZZ_SECONDS", 1);
  const auto today = static_cast<double>(std::time(nullptr) / 86400);
  const auto seed = static_cast<std::uint64_t>(number_of("TESSERA_FUZZ_SEED", today));
  HostileNames hostile(seed);
  const Clock::time_point begin = Clock::now();
  int runs = 0, compiled = 0;
  do {
    const Names names = hostile.names();
    for (std::size_t t = 0; t < kTargets.size() && !HasFailure(); ++t, ++runs) {
      compiled += feed(names, t) ? 1 : 0;
      if (HasFailure()) {
        ADD_FAILURE() << "for " << ::testing::PrintToString(kTargets[t]) << " in round "
                      << runs / kTargets.size() + 1 << " of TESSERA_FUZZ_SEED=" << seed
                      << ", with the names\n"
                      << described(names);
      }
    }
  } while (!HasFailure() && std::chrono::duration<double>(Clock::now() - begin).count() < seconds);
  std::cout << GetParam().name << ": " << runs << " compilations, " << runs - compiled
            << " refused, TESSERA_FUZZ_SEED=" << seed << "\n";
}

INSTANTIATE_TEST_SUITE_P(Models, TextFuzz, ::testing::ValuesIn(model_kinds()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tessera::text_fuzz
