// SPDX-License-Identifier: Apache-2.0
// The two lists of a collection of cases: expected_pass.txt, a name a line, and expected_fail.txt,
// `name: kind: reason`.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "diagnostics/diagnostic.h"

namespace tessera::onnx_gate {

// How a case fails. The kind is the code of a diagnostic ("E0302"), `wrong` (other numbers), `data`
// (its data set cannot be read), `internal error`, `crash` or `hang`; the reason is for people.
struct Failure {
  std::string kind, reason;

  std::string text() const { return kind + ": " + reason; }
  // Reads a text() or the end of a line; without a kind the whole is the reason.
  static Failure parse(const std::string& text);
};

struct Expectations {
  std::set<std::string> pass;
  std::map<std::string, Failure> fail;

  // What is not as the lists say about a case that passes (nothing) or fails; nothing if all is.
  // Another kind of failure is a surprise: a crash is not the refusal that is expected.
  // `evaluated`: by the reference evaluation, which passes where only the compiler fails.
  std::optional<std::string> surprise(const std::string& name,
                                      const std::optional<Failure>& outcome, bool evaluated) const;

  // The listed cases that are not among `names`.
  std::vector<std::string> not_among(const std::set<std::string>& names) const;

  static Result<Expectations> read(const std::string& folder);
  Result<void> write(const std::string& folder) const;
};

// Begins the reason of a case that the importer converts rightly and the compiler cannot yet do.
inline constexpr std::string_view kCompilerReason = "compiler: ";

}  // namespace tessera::onnx_gate
