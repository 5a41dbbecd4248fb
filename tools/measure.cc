// SPDX-License-Identifier: Apache-2.0
// `tessera measure REQUEST`: what `tessera compile --partition collage` starts to time programs in
// a process of their own. No command for people: --help does not list it.
#include <cstdio>

#include "driver/timing_worker.h"
#include "support/files.h"
#include "tools/command.h"

namespace tessera::tools {
namespace {

int measure(const std::string& file) {
  const auto text = read_file(file);
  if (!text) {
    return report(error(Code::kFileNotFound, {}, "cannot read {}", text.error().text())
                      .with_remedy("`tessera compile --partition collage` writes such requests"));
  }
  const auto request = driver::parse_timing_request(*text);
  if (!request) return report(request.error());
  driver::measure_programs(*request, [](std::string_view line) {
    show("{}", line);
    std::fflush(stdout);
  });
  return kDone;
}

}  // namespace

void add_measure(CLI::App& app, Action& chosen) {
  auto file = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("measure", "Time programs for a search")->group("");
  command->add_option("request", *file)->required();
  command->callback([file, &chosen] { chosen = [file] { return measure(*file); }; });
}

}  // namespace tessera::tools
