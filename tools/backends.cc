// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "backends/table.h"
#include "tools/command.h"

namespace tessera::tools {

void add_backends(CLI::App& app, Action& chosen) {
  CLI::App* command =
      app.add_subcommand("backends", "List the back ends, and what those lack that cannot be used");
  command->callback([&chosen] {
    chosen = [] {
      fmt::print("{:<20} takes every operator\n", "native");
      for (const byoc::Backend* b : backends::all_backends()) {
        const Target target{b->name()};
        const auto missing = b->available(target);
        fmt::print("{:<20} {}\n", b->name(),
                   missing ? "not available: " + missing->reason : "available");
      }
      return static_cast<int>(kDone);
    };
  });
}

}  // namespace tessera::tools
