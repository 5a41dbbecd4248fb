// SPDX-License-Identifier: Apache-2.0
// One file a sub-command. Each adds its options to the program and leaves behind what to run.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "diagnostics/diagnostic.h"

namespace tessera::tools {

// Exit status of the command (architecture section 13).
enum Exit { kDone = 0, kUserError = 1, kUsage = 2, kBug = 3 };

using Action = std::function<int()>;
// Adds a sub-command to `app`; `chosen` becomes its action when the user names it.
using AddCommand = void (*)(CLI::App& app, Action& chosen);

void add_compile(CLI::App& app, Action& chosen);
void add_tune(CLI::App& app, Action& chosen);
void add_records(CLI::App& app, Action& chosen);
void add_run(CLI::App& app, Action& chosen);
void add_bench(CLI::App& app, Action& chosen);
void add_check(CLI::App& app, Action& chosen);
void add_inspect(CLI::App& app, Action& chosen);
void add_export_relay(CLI::App& app, Action& chosen);
void add_opt(CLI::App& app, Action& chosen);
void add_diff(CLI::App& app, Action& chosen);
void add_backends(CLI::App& app, Action& chosen);
void add_explain(CLI::App& app, Action& chosen);
void add_completion(CLI::App& app, Action& chosen);
void add_measure(CLI::App& app, Action& chosen);

// Prints diagnostics on standard error, coloured on a terminal. Returns kUserError if one is an
// error.
int report(const Diagnostics& diagnostics);

// Prints on standard output, as tell() does on standard error: what a terminal would obey is made
// visible, and lines stay lines.
void print_visible(const std::string& text);
template <class... A>
void show(fmt::format_string<A...> text, A&&... args) {
  print_visible(fmt::format(text, std::forward<A>(args)...));
}

// Writes to standard output, or to `path` completely or not at all; "-" and "" are standard output.
Result<void> write_output(const std::string& path, const std::string& text);

}  // namespace tessera::tools
