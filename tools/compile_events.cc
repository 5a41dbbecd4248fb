// SPDX-License-Identifier: Apache-2.0
#include "tools/compile_events.h"

#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "support/json_text.h"
#include "tools/command.h"
#include "tools/report_json.h"

namespace tessera::tools {
namespace {

// A line at once: threads tell of progress.
void print_event(const char* kind, const nlohmann::ordered_json& members) {
  nlohmann::ordered_json event = {{"event", kind}};
  event.update(members);
  show("{}\n", json_text(event));
  std::fflush(stdout);
}

void print_progress(const char* what, std::size_t done, std::size_t of) {
  print_event("progress",
              {{"of", what}, {"share", static_cast<double>(done) / static_cast<double>(of)}});
}

const char* severity_text(Severity severity) {
  return severity == Severity::kError ? "error" : "warning";
}

void print_diagnostic(const Diagnostic& d) {
  nlohmann::ordered_json notes = nlohmann::ordered_json::array();
  for (const Diagnostic& note : d.notes) {
    notes.push_back({{"place", to_string(note.location)}, {"text", note.message}});
  }
  print_event("diagnostic", {{"severity", severity_text(d.severity)},
                             {"code", code_text(d.code)},
                             {"place", to_string(d.location)},
                             {"finding", d.message},
                             {"rule", code_explanation(d.code)},
                             {"remedy", d.remedy},
                             {"notes", notes},
                             {"text", render(d)}});
}

}  // namespace

int print_events(const Diagnostics& diagnostics) {
  int status = kDone;
  for (const Diagnostic& d : diagnostics.list) {
    print_diagnostic(d);
    if (d.severity == Severity::kError) status = kUserError;
  }
  return status;
}

int compile_with_events(const RunCompiler& run) {
  driver::Progress progress;
  progress.stage = [](const driver::StageTime& stage, const std::string& what) {
    print_event("stage", {{"name", stage.name}, {"seconds", stage.seconds}, {"what", what}});
  };
  progress.sources = [](std::size_t done, std::size_t of) {
    print_progress("compiling kernels", done, of);
  };
  progress.measured = [](std::size_t done, std::size_t of) {
    print_progress("measuring", done, of);
  };
  const Result<driver::CompileReport> result = run(progress);
  if (!result) return print_events(result.error());
  for (const Diagnostic& warning : result->warnings) print_diagnostic(warning);
  print_event("report", report_json(*result));
  return kDone;
}

}  // namespace tessera::tools
