// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/pattern_tables.h"
#include "backends/table.h"
#include "driver/lack_of.h"
#include "relay/patterns/pattern_text.h"
#include "tools/command.h"
#include "types/target_options.h"

namespace tessera::tools {
namespace {

void list_backends() {
  show("{:<20} takes every operator\n", "native");
  const auto lacks = driver::lack_of_cuda();
  show("{:<20} {}\n", "native on cuda",
       lacks ? "not available: " + lacks->reason : "takes every operator");
  for (const byoc::Backend* b : backends::all_backends()) {
    const Target target{b->name()};
    const auto missing = driver::lack_of(*b, target, link::ObjectCache(""));
    const auto library = missing ? std::nullopt : b->library(target);
    show("{:<20} {}\n", b->name(),
         missing   ? "not available: " + missing->reason
         : library ? fmt::format("available: {}, {}{}{}", library->version, library->path,
                                 library->note.empty() ? "" : "; ", library->note)
                   : "available");
  }
}

int print_patterns(const std::string& name) {
  std::vector<std::string> known;
  for (const relay::PatternTable& table : backends::pattern_tables()) {
    if (table.name == name) {
      show("{}", relay::print(table));
      return kDone;
    }
    known.push_back(table.name);
  }
  return report(error(Code::kBadOption, {}, "there is no table of patterns `{}`", name)
                    .with_remedy(fmt::format("the tables are {}", fmt::join(known, ", "))));
}

int print_options(const std::string& name) {
  const TargetKind* kind = find_target_kind(name);
  if (kind != nullptr) {
    show("{}", options_text(*kind));
    return kDone;
  }
  std::vector<std::string> known;
  for (const TargetKind& other : target_kinds()) known.push_back(other.name);
  return report(error(Code::kBadOption, {}, "there is no target kind `{}`", name)
                    .with_remedy(fmt::format("the kinds are {}", fmt::join(known, ", "))));
}

}  // namespace

void add_backends(CLI::App& app, Action& chosen) {
  auto patterns = std::make_shared<std::string>(), options = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("backends", "List the back ends, and what those lack that cannot be used");
  command->add_option("--patterns", *patterns,
                      "Print a table of patterns, as --patterns of opt reads it");
  command->add_option("--options", *options,
                      "Print the options of a target kind, with their defaults, for --target");
  command->callback([&chosen, patterns, options] {
    chosen = [patterns, options] {
      if (!patterns->empty()) return print_patterns(*patterns);
      if (!options->empty()) return print_options(*options);
      list_backends();
      return static_cast<int>(kDone);
    };
  });
}

}  // namespace tessera::tools
