// SPDX-License-Identifier: Apache-2.0
// For tests: goldens of `opt`. A file in testdata/ holds cases; each is a text with what must come
// out:
//
//   // ARGS: opt --passes simplify-expr        of all cases below, or inside one case of that alone
//   // --- cast-identity                       the next case; stands for the version line if it has
//   none def @main(%x: float32) { cast(%x, dtype="float32") }
//   // CHECK: def @main(%x: float32) -> float32 {
//   // CHECK:   %x
//   // CHECK: }
//
// With --trace-patterns in ARGS the outcome begins with what is told about patterns.
// Every line of the outcome must match; TESSERA_UPDATE_GOLDENS=1 writes the CHECK lines anew. The
// outcome is the module without types of nodes, or the errors as a user sees them if the case's
// name begins with `fail_`. `{testdata}` in ARGS is the folder of the file. More lines of a case:
//
//   // CONSTANT: float32[2,3] = 1 2            meta[relay.Constant][0], the next one is [1]; values
//   repeat
//   // TYPES                                   the outcome shows the types of nodes
//   // NOT-IDEMPOTENT: why                     running the passes on the outcome changes it
//   // NOT-EVALUATED: why                      input and outcome compute different things, or
//   nothing
//
// Beyond the text a case shows that: the outcome reads back equal and prints the same; it is well
// formed and has the types of the input; the passes leave it alone; @main computes what it did.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "passes/pass.h"

namespace tessera::passes::testing {

struct GoldenCase {
  std::string name;
  std::string args;
  std::string text;  // what is read, version line included
  bool has_version = false;
  std::vector<Tensor> constants;
  std::vector<std::string> expected;
  bool types = false, not_idempotent = false, not_evaluated = false;
  bool must_fail() const { return name.starts_with("fail_"); }
};

struct GoldenFile {
  std::string path;
  std::vector<std::string> lines;
  std::vector<GoldenCase> cases;
};

GoldenFile read_golden(const std::string& path);
// All `*.relay` of a folder, sorted.
std::vector<std::string> golden_paths(const std::string& folder);

struct GoldenOutcome {
  std::vector<std::string> lines;
  std::vector<std::string> findings;  // what is wrong beside the text
};
// `tables` beside those of the files that ARGS name with --patterns.
GoldenOutcome run_golden(const GoldenCase& golden, const std::string& folder,
                         std::span<const Pass* const> known,
                         std::span<const relay::PatternTable> tables = {});

// Puts `lines` in place of the case's CHECK lines, in the file.
void update_golden(const std::string& path, const std::string& name,
                   const std::vector<std::string>& lines);

}  // namespace tessera::passes::testing
